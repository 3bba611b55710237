"""The folder of a collection, which the processes of a suite write to at once.

Each program has one file. Where several tests run it, with other elements in its arrays, the file
is that of the first test in the order of the suite, whichever process comes first: the files are
the same for any number of processes.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from parity_tests.suites.collected import index
from parity_tests.suites.collected.index import Candidate, CollectedProgram, Collection
from parity_tests.suites.versions import versions
from reports.output.files import write_atomically


class CollectionFolderError(ValueError):
    """The folder cannot take a collection; the message says why, and what to do."""


def prepare(folder: Path) -> None:
    """Make a folder ready: created where it is missing, and with an index where it has none.

    Raises `CollectionFolderError` where it holds something else, and OSError.
    """
    file = folder / index.NAME
    if folder.exists() and not folder.is_dir():
        raise CollectionFolderError(f"{str(folder)!r} is a file; name a folder")
    folder.mkdir(parents=True, exist_ok=True)
    if file.exists():
        _read(file)
    elif any(folder.iterdir()):
        raise CollectionFolderError(
            f"{str(folder)!r} is not empty and holds no collection (no {index.NAME}); name an "
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
            write_atomically(row, json.dumps({"order": found.order, "row": _plain(found.row)}))

    def rows(self) -> tuple[CollectedProgram, ...]:
        """Return the rows of this run."""
        files = sorted(self._rows.glob("*.json"))
        found = (json.loads(each.read_bytes())["row"] for each in files)
        return tuple(CollectedProgram.model_validate(each) for each in found)

    def finish(self, rows: Sequence[CollectedProgram], stopped: str) -> None:
        """Write the index: the programs of this run, and those of earlier ones. Raises OSError."""
        file = self._folder / index.NAME
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
        return index.read(file)
    except index.UNREADABLE as error:
        said = str(error).splitlines()[0]
        raise CollectionFolderError(
            f"{str(file)!r} is no index of a collection ({said}); name an empty folder"
        ) from error


def _plain(row: CollectedProgram) -> object:
    return row.model_dump(mode="json")


def _text(collection: Collection) -> str:
    return json.dumps(collection.model_dump(mode="json"), indent=2) + "\n"
