"""Imports the programs of another module, and has none of its own."""

from planted_package.programs import first, second  # noqa: F401
