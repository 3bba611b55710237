"""The tables of a store, by version: each step makes the next version of the one before.

`PRAGMA user_version` in the file has its version. All steps and the new number are one transaction,
so a process that is killed in it leaves the older store whole. A step that was released is never
changed: it writes SQL of its own, and what it reads off rows it reads with the present code.
"""

from __future__ import annotations

import dataclasses
import re
import sqlite3
from collections.abc import Callable

from reports.output import json_file
from reports.rows import ProgramRow
from reports.rows.headline import headline
from reports.rows.history import StoredProgram
from reports.store import columns


def _version_1(connection: sqlite3.Connection) -> None:
    # `root` has the fields of a campaign but its programs; `row` a line of the JSON report, packed.
    connection.execute(
        "CREATE TABLE runs (id INTEGER PRIMARY KEY AUTOINCREMENT, started TEXT NOT NULL, "
        "finished TEXT, schema_version INTEGER NOT NULL, root TEXT NOT NULL)"
    )
    connection.execute(
        "CREATE TABLE programs (run INTEGER NOT NULL REFERENCES runs, place INTEGER NOT NULL, "
        "name TEXT NOT NULL, row BLOB NOT NULL, PRIMARY KEY (run, place))"
    )


_COLUMNS_OF_RUNS_2 = (
    "machine TEXT NOT NULL DEFAULT ''", "commit_id TEXT", "committed TEXT",
    "is_dirty INTEGER NOT NULL DEFAULT 0", "settings TEXT",
    "planned TEXT NOT NULL DEFAULT '[]'", "question TEXT NOT NULL DEFAULT ''",
)  # fmt: skip
_METRICS_2 = (
    "compile_seconds", "first_call_seconds", "call_seconds", "stablehlo_bytes", "serialized_bytes",
    "device_memory_of_constants", "temporary_bytes", "peak_host_memory_of_compiling", "const_args",
    "jaxpr_equations",
)  # fmt: skip


def _version_2(connection: sqlite3.Connection) -> None:
    """Columns that are listed, compared and drawn; rows move to a table that these do not read."""
    for column in _COLUMNS_OF_RUNS_2:
        connection.execute(f"ALTER TABLE runs ADD COLUMN {column}")
    connection.execute("ALTER TABLE programs RENAME TO programs_1")
    connection.execute(
        "CREATE TABLE programs (run INTEGER NOT NULL REFERENCES runs, place INTEGER NOT NULL, "
        "name TEXT NOT NULL, source TEXT NOT NULL, digest TEXT NOT NULL, verdict TEXT NOT NULL, "
        "flip TEXT, reason TEXT NOT NULL, reasons TEXT NOT NULL, is_final INTEGER NOT NULL, "
        "PRIMARY KEY (run, place)) WITHOUT ROWID"
    )
    connection.execute("CREATE INDEX programs_by_name ON programs (name, run)")
    metrics = "".join(f", {each} REAL" for each in _METRICS_2)
    connection.execute(
        "CREATE TABLE sides (run INTEGER NOT NULL, place INTEGER NOT NULL, side TEXT NOT NULL, "
        f"failure TEXT NOT NULL, outputs TEXT NOT NULL, output_types TEXT NOT NULL{metrics}, "
        "PRIMARY KEY (run, place, side)) WITHOUT ROWID"
    )
    connection.execute(
        "CREATE TABLE rows (run INTEGER NOT NULL, place INTEGER NOT NULL, samples TEXT, "
        "row BLOB NOT NULL, PRIMARY KEY (run, place))"
    )
    _fill_version_2(connection)
    connection.execute("DROP TABLE programs_1")


def _fill_version_2(connection: sqlite3.Connection) -> None:
    for run, finished in connection.execute("SELECT id, finished FROM runs").fetchall():
        rows = connection.execute(
            "SELECT place, name, row FROM programs_1 WHERE run = ? ORDER BY place", (run,)
        )
        found = []
        for place, name, packed in rows:
            row = _row_of(packed)
            program = columns.program_of(row) if row else _of_name(name)
            program = dataclasses.replace(program, is_final=finished is not None)
            columns.put(connection, run, place, program, packed)
            found.append(row)
        if finished is not None and all(found):
            question = headline([each for each in found if each]).question
            connection.execute("UPDATE runs SET question = ? WHERE id = ?", (question, run))


def _row_of(packed: bytes) -> ProgramRow | None:
    """Read a row; None where it is damaged, or of another schema."""
    try:
        return json_file.program_of(columns.unpacked(packed))
    except ValueError:
        return None


def _of_name(name: str) -> StoredProgram:
    """Return what is known of a row that this constparity does not read; the row itself stays."""
    return StoredProgram(
        name=name,
        source="",
        digest="",
        verdict="could not compare",
        flip=None,
        reason="its row was not read when the store was migrated",
        reasons=(),
        sides={},
    )


def _version_3(connection: sqlite3.Connection) -> None:
    """Planned campaigns: `program` is a planned program as its campaign wrote it."""
    connection.execute("ALTER TABLE runs ADD COLUMN plan INTEGER")
    connection.execute(
        "CREATE TABLE plans (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL, "
        "digest TEXT NOT NULL, whole TEXT NOT NULL, total INTEGER NOT NULL, shard TEXT NOT NULL, "
        "sides TEXT NOT NULL, spec TEXT NOT NULL, started TEXT NOT NULL, finished TEXT, "
        "coverage TEXT NOT NULL DEFAULT '{}')"
    )
    connection.execute(
        "CREATE TABLE planned (plan INTEGER NOT NULL REFERENCES plans, place INTEGER NOT NULL, "
        "run INTEGER NOT NULL, name TEXT NOT NULL, program TEXT NOT NULL, state TEXT NOT NULL, "
        "why TEXT NOT NULL DEFAULT '', symptom TEXT NOT NULL DEFAULT '', "
        "line TEXT NOT NULL DEFAULT '', equation TEXT NOT NULL DEFAULT '', "
        "action TEXT NOT NULL DEFAULT '', target TEXT NOT NULL DEFAULT '', "
        "recipe TEXT NOT NULL DEFAULT '', "
        "against_itself TEXT NOT NULL DEFAULT '', machine TEXT NOT NULL DEFAULT '', seconds REAL, "
        "is_timed INTEGER NOT NULL DEFAULT 0, PRIMARY KEY (plan, place)) WITHOUT ROWID"
    )
    connection.execute("CREATE INDEX planned_by_state ON planned (plan, state, run)")
    connection.execute(
        "CREATE TABLE tasks (plan INTEGER NOT NULL REFERENCES plans, key TEXT NOT NULL, "
        "ended TEXT NOT NULL, machine TEXT NOT NULL, seconds REAL NOT NULL, "
        "processor_seconds REAL NOT NULL, floor_seconds REAL NOT NULL, lost TEXT NOT NULL)"
    )


def _version_4(connection: sqlite3.Connection) -> None:
    """Rules that the programs of a plan break, and the versions that each was measured with."""
    connection.execute("ALTER TABLE planned ADD COLUMN broken TEXT NOT NULL DEFAULT ''")
    connection.execute("ALTER TABLE plans ADD COLUMN rules TEXT NOT NULL DEFAULT ''")
    for table in ("planned", "tasks"):
        connection.execute(f"ALTER TABLE {table} ADD COLUMN versions TEXT NOT NULL DEFAULT ''")


def _version_5(connection: sqlite3.Connection) -> None:
    """Libraries of a plan, and what each one came to, as JSON."""
    connection.execute("ALTER TABLE plans ADD COLUMN libraries TEXT NOT NULL DEFAULT '[]'")


def _version_6(connection: sqlite3.Connection) -> None:
    """Options of `constparity run`, with which a program runs in the environment of a run."""
    connection.execute("ALTER TABLE runs ADD COLUMN options TEXT NOT NULL DEFAULT ''")


def _version_7(connection: sqlite3.Connection) -> None:
    """Whether a program of a plan was proved, and not run or run as a sample."""
    connection.execute("ALTER TABLE planned ADD COLUMN proof TEXT NOT NULL DEFAULT ''")


STEPS: tuple[Callable[[sqlite3.Connection], None], ...] = (
    _version_1, _version_2, _version_3, _version_4, _version_5, _version_6, _version_7,
)  # fmt: skip
VERSION = len(STEPS)
# What SQLite says of a step that was taken already, or whose step before was not.
_OF_OTHER_TABLES = re.compile(r"duplicate column name|(table|index) .* already exists|no such ")


class WrongTablesError(ValueError):
    """A store says that it has a version whose tables are others."""

    def __init__(self, version: int, said: str) -> None:
        super().__init__(f"it says version {version}, and its tables are of another one ({said})")


def migrate(connection: sqlite3.Connection, application: int) -> None:
    """Bring an open database to the present version, within the transaction of the caller.

    Raises `WrongTablesError` where its tables are not those of its version.
    """
    [version] = connection.execute("PRAGMA user_version").fetchone()
    for step in STEPS[version:]:
        try:
            step(connection)
        except sqlite3.OperationalError as error:
            if _OF_OTHER_TABLES.match(str(error)):
                raise WrongTablesError(version, str(error)) from error
            raise
    if version < VERSION:
        connection.execute(f"PRAGMA application_id = {application}")
        connection.execute(f"PRAGMA user_version = {VERSION}")
