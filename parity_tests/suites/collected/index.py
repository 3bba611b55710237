"""The index of a collection: index.json, which names each program and what was not written."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pydantic

from reports.rows.row import Row

if TYPE_CHECKING:
    from parity_tests.reduce.stand_alone_file import Written

SCHEMA = 1
NAME = "index.json"


class CollectedProgram(Row):
    """A program that a suite compiled: `file` has it, or `why` says why no file can.

    `test` is the node id of the first test that ran it, "" for what runs outside of tests: while
    modules are imported, or in a teardown, which may be that of a whole module. `lost` names what
    the program had and the file has not.
    """

    identity: str
    name: str
    source: str  # "file:line" of the function; "" where JAX forgot it
    test: str
    file: str
    why: str
    lost: tuple[str, ...] = ()


class Collection(Row):
    """The index of a folder: what it was written with last, and its programs.

    `stopped` says why the last run wrote not all of its programs; "" where it did.
    """

    schema_version: int = SCHEMA
    versions: dict[str, str]
    programs: tuple[CollectedProgram, ...] = ()
    stopped: str = ""

    def with_rows(self, rows: Iterable[CollectedProgram]) -> tuple[CollectedProgram, ...]:
        """Return the programs with those of another run, which stand for older rows of them."""
        found = {each.identity: each for each in (*self.programs, *rows)}
        return tuple(sorted(found.values(), key=lambda row: (row.name, row.source, row.identity)))


def read(file: Path) -> Collection:
    """Read an index. Raises ValueError where it is none, or has another schema, and OSError."""
    found = Collection.model_validate_json(file.read_bytes())
    if found.schema_version != SCHEMA:
        raise ValueError(f"it has schema {found.schema_version}; this version writes {SCHEMA}")
    return found


# What `read` raises for a file that is no index.
UNREADABLE = (pydantic.ValidationError, ValueError)


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
