"""The file of a store: opened, checked, and written in turns.

The write-ahead log lets readers read while a writer writes, and a writer that is killed leaves the
transactions that it has committed. Each transaction is on the disk before its program is said to
be kept.
"""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
import time
import urllib.parse
from collections.abc import Iterator
from pathlib import Path

from pydantic import ValidationError

from reports.store.columns import VERSION, make_tables

APPLICATION_ID = 0x6370_7274  # "cprt", in the header of the file
PATIENCE = 60.0  # seconds that a writer waits for another one


class StoreError(ValueError):
    """A store cannot be read or written; the message names the file, why, and what to do."""


def store_error(path: str | os.PathLike[str], what: str, what_to_do: str) -> StoreError:
    """Return the error that says what is wrong with a store, and what to do.

    Example::

        >>> str(store_error("runs.db", "it is missing", "name another"))
        "the store 'runs.db': it is missing; name another"
    """
    return StoreError(f"the store {os.fspath(path)!r}: {what}; {what_to_do}")


CHANGED_BY_HAND = "something else has written to it: take a copy of before, or name another file"


@contextlib.contextmanager
def opened_for_writing(path: Path) -> Iterator[sqlite3.Connection]:
    """Open a store, made where it is missing.

    Raises `StoreError`, before anything is changed where the file is another program's or of
    another version.
    """
    if path.exists() and path.stat().st_size:
        check(path)
    with _explained(path):
        connection = _connect(path, "rwc")
    with _explained(path), contextlib.closing(connection):
        _use_write_ahead_log(path, connection)
        with transaction(path, connection, checked=False):
            if version_of(connection) == 0:  # else it is there, or another process has made it
                make_tables(connection)
                connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        yield connection


@contextlib.contextmanager
def opened_for_reading(path: Path) -> Iterator[sqlite3.Connection]:
    """Open a store that exists. Raises `StoreError`.

    Whatever is read in the block is of the moment of its first statement.
    """
    check_is_there(path, f"keep runs in one with constparity run --store {path}")
    if not check(path):
        with opened_for_writing(path):
            pass
    with _explained(path), contextlib.closing(_reader(path)) as connection:
        connection.execute("BEGIN")
        yield connection


def check_is_there(path: Path, what_to_do: str) -> None:
    """Make sure that a store is there. Raises `StoreError`, which says what to do."""
    if not path.is_file():
        what = "it is a folder" if path.is_dir() else "there is no such file"
        raise store_error(path, what, what_to_do)


def check(path: Path) -> int:
    """Return the version of a store; 0 where the file is empty. Its content stays as it is.

    Raises `StoreError` where the file is no store, or of another version.
    """
    with _explained(path), contextlib.closing(_reader(path)) as connection:
        [tables] = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
        [application] = connection.execute("PRAGMA application_id").fetchone()
        version = version_of(connection)
    if not tables and not application and not version:
        return 0
    if application != APPLICATION_ID:
        raise store_error(path, "it is a database of another program", "name another file")
    if version < 1:
        what = f"it has version {version}, which no constparity writes"
        raise store_error(path, what, CHANGED_BY_HAND)
    if version != VERSION:
        raise store_error(
            path,
            f"it has version {version}, and this constparity reads version {VERSION}",
            "use the constparity that wrote it, or name another file",
        )
    return version


def version_of(connection: sqlite3.Connection) -> int:
    """Return the version that the tables of a database have."""
    [version] = connection.execute("PRAGMA user_version").fetchone()
    return int(version)


@contextlib.contextmanager
def transaction(
    path: Path, connection: sqlite3.Connection, *, checked: bool = True
) -> Iterator[None]:
    """Commit what is written in the block, all of it or nothing.

    Another constparity may have changed its version in the meantime; it is refused then.
    """
    with _explained(path):
        connection.execute("BEGIN IMMEDIATE")  # waits for another writer here, not at the commit
        try:
            if checked and (version := version_of(connection)) != VERSION:
                what = f"another constparity has made it version {version} in the meantime"
                raise store_error(path, what, "use that one")
            yield
            connection.execute("COMMIT")
        finally:
            if connection.in_transaction:
                connection.execute("ROLLBACK")


def _connect(path: Path, mode: str) -> sqlite3.Connection:
    uri = f"file:{urllib.parse.quote(os.path.abspath(path))}?mode={mode}"
    return sqlite3.connect(uri, uri=True, timeout=PATIENCE, isolation_level=None)


def _reader(path: Path) -> sqlite3.Connection:
    """Connect to a file that is not changed; where its folder cannot be written, it is read as is.

    SQLite makes files of its own beside one with a write-ahead log, and a connection that may only
    read leaves them there. Where it may not make them, and there is no log, nobody writes.
    """
    connection = _connect(path, "rw")
    try:
        connection.execute("PRAGMA query_only = 1")
        connection.execute("SELECT count(*) FROM sqlite_schema")
    except sqlite3.Error as error:
        connection.close()
        log = path.with_name(path.name + "-wal")
        if _name_of(error).startswith(("SQLITE_CANTOPEN", "SQLITE_READONLY")) and not log.exists():
            return _connect(path, "ro&immutable=1")
        raise
    return connection


def _use_write_ahead_log(path: Path, connection: sqlite3.Connection) -> None:
    # SQLite does not wait for others that do the same at this moment.
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            [mode] = connection.execute("PRAGMA journal_mode = WAL").fetchone()
            break
        except sqlite3.OperationalError as error:
            if _name_of(error) != "SQLITE_BUSY" or time.monotonic() > deadline:
                raise
            time.sleep(0.02)
    if mode != "wal":
        what = "its file system takes no write-ahead log"
        raise store_error(path, what, "name a file on a local disk")
    connection.execute("PRAGMA synchronous = FULL")


# -- what goes wrong, in sentences that say what to do ---------------------------------------------

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


@contextlib.contextmanager
def _explained(path: str | os.PathLike[str]) -> Iterator[None]:
    """Turn what SQLite raises, and what no column can hold, into a `StoreError`."""
    try:
        yield
    except sqlite3.Error as error:
        raise _explanation(path, error) from error
    except (json.JSONDecodeError, ValidationError) as error:
        [first, *_] = str(error).splitlines()
        raise store_error(path, f"a column of it is damaged ({first})", CHANGED_BY_HAND) from error


def _explanation(path: str | os.PathLike[str], error: sqlite3.Error) -> StoreError:
    name = _name_of(error)
    for known, (what, what_to_do) in _TOLD.items():
        if name == known or name.startswith(f"{known}_"):
            return store_error(path, f"{what} ({error})", what_to_do)
    # Tables or columns that another program has changed, and what else is no fault of the disk.
    return store_error(path, f"it does not answer ({error})", "move it away and begin a new one")


def _name_of(error: sqlite3.Error) -> str:
    """Return SQLite's name of an error; "" where Python raised it."""
    return getattr(error, "sqlite_errorname", "")
