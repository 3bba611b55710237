"""Runs as they are written: begun, a program at a time, finished."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from reports.output import json_file
from reports.rows import SCHEMA_VERSION, Campaign, ProgramRow
from reports.rows.history import RunBegin
from reports.rows.row import now, spelled_out
from reports.store.columns import VERSION, insert, packed, program_of, put
from reports.store.database import opened_for_writing, transaction


@dataclass(frozen=True)
class RunWriter:
    """A run in a store; each call is one transaction, and raises `StoreError`."""

    path: Path
    connection: sqlite3.Connection
    run: int

    def put(self, place: int, row: ProgramRow) -> None:
        """Commit a program that is finished; the end of the run may judge it once more."""
        program, text = program_of(row, is_final=False), json_file.render_program(row)
        with transaction(self.path, self.connection):
            put(self.connection, self.run, place, program, packed(text))

    def finish(self, campaign: Campaign, places: Mapping[str, int]) -> None:
        """Commit the whole run as it came out; `places` has each program's by its name."""
        # Packed before the transaction, which keeps other writers waiting.
        ready = [
            (places[row.name], program_of(row), packed(json_file.render_program(row)))
            for row in campaign.programs
        ]
        with transaction(self.path, self.connection):
            for table in ("programs", "sides", "rows"):
                self.connection.execute(f"DELETE FROM {table} WHERE run = ?", (self.run,))
            for each in ready:
                put(self.connection, self.run, *each)
            self.connection.execute(
                "UPDATE runs SET finished = ?, root = ?, question = ? WHERE id = ?",
                (
                    now(),
                    json_file.render_root(campaign),
                    spelled_out(campaign.headline.question),
                    self.run,
                ),
            )


@contextlib.contextmanager
def begun(path: Path, begin: RunBegin) -> Iterator[RunWriter]:
    """Begin a run in a store, made where it is missing. Raises `StoreError`.

    Example::

        with begun(Path("runs.db"), begin) as writer:
            writer.put(0, row)
            writer.finish(campaign, {row.name: 0})
    """
    with opened_for_writing(path) as connection:
        with transaction(path, connection):
            run = insert_run(connection, begin)
        yield RunWriter(path, connection, run)


def insert_run(connection: sqlite3.Connection, begin: RunBegin) -> int:
    """Insert a run, within the transaction of the caller, and return its number."""
    root = Campaign(
        created=begin.started, environment=begin.environment, sides=begin.sides, programs=()
    )
    commit = begin.commit
    return insert(
        connection,
        "runs",
        {
            "started": begin.started,
            "schema_version": SCHEMA_VERSION,
            "root": json_file.render_root(root),
            "machine": begin.machine,
            "commit_id": commit and commit.id,
            "committed": commit and commit.date,
            "is_dirty": bool(commit and commit.is_dirty),
            "settings": json.dumps(dict(begin.settings)),
            "planned": json.dumps(begin.planned),
        },
    )


def check_store(path: Path) -> None:
    """Make sure that a run can be kept in a store, which is made where it is missing.

    Raises `StoreError`.
    """
    with opened_for_writing(path) as connection, transaction(path, connection):
        # SQLite begins a transaction in a file that may only be read, too.
        connection.execute(f"PRAGMA user_version = {VERSION}")
