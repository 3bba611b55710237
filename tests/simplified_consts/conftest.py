"""The fixtures of the tests of engine and pipelines, which are in `tests/helpers/`."""

from engine_fixtures import arguments, side, table, uses_table_everywhere

__all__ = ["arguments", "side", "table", "uses_table_everywhere"]
