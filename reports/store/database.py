"""The file of a store: opened, checked, brought to the present version, and written in turns.

The write-ahead log lets readers read while a writer writes, and a writer that is killed leaves the
transactions that it has committed. Each transaction is on the disk before its program is said to
be kept.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import time
import urllib.parse
from collections.abc import Iterator
from pathlib import Path

from reports.store import migrations
from reports.store.errors import PATIENCE, explained, name_of, store_error

APPLICATION_ID = 0x6370_7274  # "cprt", in the header of the file
_CHANGED_BY_HAND = "something else has written to it: take a copy of before, or name another file"


@contextlib.contextmanager
def opened_for_writing(path: Path) -> Iterator[sqlite3.Connection]:
    """Open a store, made where it is missing and migrated where it is older.

    Raises `StoreError`, before anything is changed where the file is another program's or of a
    newer constparity.
    """
    if path.exists() and path.stat().st_size:
        check(path)
    with explained(path):
        connection = _connect(path, "rwc")
    with explained(path), contextlib.closing(connection):
        _use_write_ahead_log(path, connection)
        try:
            with transaction(path, connection, checked=False):
                migrations.migrate(connection, APPLICATION_ID)
        except migrations.WrongTablesError as error:
            raise store_error(path, str(error), _CHANGED_BY_HAND) from error
        yield connection


@contextlib.contextmanager
def opened_for_reading(path: Path) -> Iterator[sqlite3.Connection]:
    """Open a store that exists; an older one is migrated first. Raises `StoreError`.

    Whatever is read in the block is of the moment of its first statement.
    """
    check_is_there(path, f"keep runs in one with constparity run --store {path}")
    if check(path) < migrations.VERSION:
        with opened_for_writing(path):
            pass
    with explained(path), contextlib.closing(_reader(path)) as connection:
        connection.execute("BEGIN")
        yield connection


def check_is_there(path: Path, what_to_do: str) -> None:
    """Make sure that a store is there. Raises `StoreError`, which says what to do.

    Example::

        check_is_there(Path("runs.db"), "name the store of an earlier campaign")
    """
    if not path.is_file():
        what = "it is a folder" if path.is_dir() else "there is no such file"
        raise store_error(path, what, what_to_do)


def check(path: Path) -> int:
    """Return the version of a store; 0 where the file is empty. Its content stays as it is.

    Raises `StoreError` where the file is no store, or of a newer constparity.
    """
    with explained(path), contextlib.closing(_reader(path)) as connection:
        [tables] = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
        [application] = connection.execute("PRAGMA application_id").fetchone()
        version = version_of(connection)
    if not tables and not application and not version:
        return 0
    if application != APPLICATION_ID:
        raise store_error(path, "it is a database of another program", "name another file")
    if version < 1:
        what = f"it has version {version}, which no constparity writes"
        raise store_error(path, what, _CHANGED_BY_HAND)
    if version > migrations.VERSION:
        raise store_error(
            path,
            f"it has version {version}, and this constparity reads versions up to "
            f"{migrations.VERSION}",
            "use the constparity that wrote it, or a newer one",
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

    A newer constparity may have migrated the file in the meantime, which then is refused.
    """
    with explained(path):
        connection.execute("BEGIN IMMEDIATE")  # waits for another writer here, not at the commit
        try:
            if checked and (version := version_of(connection)) != migrations.VERSION:
                what = f"a newer constparity has made it version {version} in the meantime"
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
        if name_of(error).startswith(("SQLITE_CANTOPEN", "SQLITE_READONLY")) and not log.exists():
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
            if name_of(error) != "SQLITE_BUSY" or time.monotonic() > deadline:
                raise
            time.sleep(0.02)
    if mode != "wal":
        what = "its file system takes no write-ahead log"
        raise store_error(path, what, "name a file on a local disk")
    connection.execute("PRAGMA synchronous = FULL")
