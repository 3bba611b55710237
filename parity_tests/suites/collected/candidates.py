"""A program as one test ran it, and which test that is; without JAX, for pytest's hooks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from parity_tests.suites.collected.index import CollectedProgram

if TYPE_CHECKING:
    from parity_tests.reduce.stand_alone_file import Written


@dataclass(frozen=True)
class Ran:
    """Which test runs: its node id, "" outside of tests, and its place among the tests."""

    test: str
    order: int


# While modules are imported, which each process does before its first test.
BEFORE_TESTS = Ran("", -1)


@dataclass(frozen=True)
class Candidate:
    """A program as one test ran it: its row, and its file where one can be written."""

    row: CollectedProgram
    order: int
    written: Written | None
