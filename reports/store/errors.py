"""What goes wrong with a store, in sentences that name the file and say what to do."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Iterator

PATIENCE = 60.0  # seconds that a writer waits for another one


class StoreError(ValueError):
    """A store cannot be read or written; the message names the file, why, and what to do."""


_DAMAGED = (
    "it is damaged",
    "move it away, with its -wal file, and save what is left with the command .recover of sqlite3",
)
_NOT_WRITTEN = "it cannot be written", "give permission to it and to its folder, or name another"
_FULL = "the disk is full", "make room; what was committed is in it"
_TOLD = {
    "SQLITE_NOTADB": ("it is no SQLite database", "name another file, or move this one away"),
    "SQLITE_CORRUPT": _DAMAGED,
    "SQLITE_FULL": _FULL,
    "SQLITE_READONLY": _NOT_WRITTEN,
    "SQLITE_PERM": _NOT_WRITTEN,
    "SQLITE_CANTOPEN": ("it cannot be opened", "check the path and the permissions of its folder"),
    "SQLITE_BUSY": (
        f"another process has been writing to it for {PATIENCE:.0f} seconds",
        "try again when that one is done",
    ),
    "SQLITE_IOERR": ("the disk does not take or give its content", "make room, or name another"),
}


def store_error(path: str | os.PathLike[str], what: str, what_to_do: str) -> StoreError:
    """Return the error that says what is wrong with a store, and what to do.

    Example::

        >>> str(store_error("runs.db", "it is missing", "name another"))
        "the store 'runs.db': it is missing; name another"
    """
    return StoreError(f"the store {os.fspath(path)!r}: {what}; {what_to_do}")


@contextlib.contextmanager
def explained(path: str | os.PathLike[str]) -> Iterator[None]:
    """Turn what SQLite raises into a `StoreError`."""
    try:
        yield
    except sqlite3.Error as error:
        raise _explanation(path, error) from error


def _explanation(path: str | os.PathLike[str], error: sqlite3.Error) -> StoreError:
    name = name_of(error)
    for known, (what, what_to_do) in _TOLD.items():
        if name == known or name.startswith(f"{known}_"):
            return store_error(path, f"{what} ({error})", what_to_do)
    # Tables or columns that another program has changed, and what else is no fault of the disk.
    return store_error(path, f"it does not answer ({error})", "move it away and begin a new one")


def name_of(error: sqlite3.Error) -> str:
    """Return SQLite's name of an error; "" where Python raised it."""
    return getattr(error, "sqlite_errorname", "")
