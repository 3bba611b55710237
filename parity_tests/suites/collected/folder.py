"""The folder of a collection, which the processes of a suite write to at once.

Each program has one file. Where several tests run it, with other elements in its arrays, the file
is that of the first test in the order of the suite, whichever process comes first: the files are
the same for any number of processes. The index, index.json, names each program and what was not
written. All of this is without JAX, for pytest's hooks.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from parity_tests.suites.journal import versions
from reports.output.files import write_atomically
from reports.rows.row import Row

if TYPE_CHECKING:
    from parity_tests.reduce.stand_alone_file import Written


SCHEMA = 1
INDEX = "index.json"


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


class CollectionFolderError(ValueError):
    """The folder cannot take a collection; the message says why, and what to do."""


def prepare(folder: Path) -> None:
    """Make a folder ready: created where it is missing, and with an index where it has none.

    Raises `CollectionFolderError` where it holds something else, and OSError.
    """
    file = folder / INDEX
    if folder.exists() and not folder.is_dir():
        raise CollectionFolderError(f"{str(folder)!r} is a file; name a folder")
    folder.mkdir(parents=True, exist_ok=True)
    if file.exists():
        _read(file)
    elif any(folder.iterdir()):
        raise CollectionFolderError(
            f"{str(folder)!r} is not empty and holds no collection (no {INDEX}); name an "
            "empty folder"
        )
    else:
        write_atomically(file, _text(Collection(versions=versions())))


class CollectionFolder:
    """The folder as one process writes to it; `rows` is a folder for this run of the suite alone.

    `rows` has a file for each program, with the place of the test that it was written for. A
    process that crashes loses no program that it wrote.
    """

    def __init__(self, folder: Path, rows: Path) -> None:
        self._folder, self._rows = folder, rows

    def keep(self, found: Candidate) -> None:
        """Write a candidate, unless a test before its own has run the program. Raises OSError."""
        row = self._rows / f"{found.row.identity}.json"
        with self._alone():
            if row.exists() and json.loads(row.read_bytes())["order"] <= found.order:
                return
            if found.written is not None:
                found.written.save(self._folder / found.row.file)
            kept = {"order": found.order, "row": found.row.model_dump(mode="json")}
            write_atomically(row, json.dumps(kept))

    def rows(self) -> tuple[CollectedProgram, ...]:
        """Return the rows of this run."""
        files = sorted(self._rows.glob("*.json"))
        found = (json.loads(each.read_bytes())["row"] for each in files)
        return tuple(CollectedProgram.model_validate(each) for each in found)

    def finish(self, rows: Sequence[CollectedProgram], stopped: str) -> None:
        """Write the index: the programs of this run, and those of earlier ones. Raises OSError."""
        file = self._folder / INDEX
        with self._alone():
            programs = _read(file).with_rows(rows)
            write_atomically(
                file, _text(Collection(versions=versions(), programs=programs, stopped=stopped))
            )

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        """Hold the folder: its own descriptor is the lock, so that no file of a lock stays."""
        descriptor = os.open(self._folder, os.O_RDONLY | os.O_CLOEXEC)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            # Said, and not left to the closing: a process that another thread forked meanwhile
            # holds the descriptor as well.
            fcntl.flock(descriptor, fcntl.LOCK_UN)
            os.close(descriptor)


def _read(file: Path) -> Collection:
    try:
        found = Collection.model_validate_json(file.read_bytes())
        if found.schema_version != SCHEMA:
            raise ValueError(f"it has schema {found.schema_version}; this version writes {SCHEMA}")
        return found
    except ValueError as error:  # pydantic's errors are of this type, too
        said = str(error).splitlines()[0]
        raise CollectionFolderError(
            f"{str(file)!r} is no index of a collection ({said}); name an empty folder"
        ) from error


def _text(collection: Collection) -> str:
    return json.dumps(collection.model_dump(mode="json"), indent=2) + "\n"
