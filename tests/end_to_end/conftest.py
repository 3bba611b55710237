"""The engine's fixtures, for tests that cross modules; they are defined in `tests/helpers/`."""

from engine_fixtures import arguments, side, table, uses_table_everywhere

__all__ = ["arguments", "side", "table", "uses_table_everywhere"]
