"""The settings of the engine: how they are parsed, where they are held, which side a trace has."""
