"""The settings of the engine: their parsers, their values, and the side of a trace."""
