"""The tables of a store: what is read off the row of a program, and the SQL that writes it."""

from __future__ import annotations

import hashlib
import json
import sqlite3
import zlib
from collections.abc import Mapping, Sequence

from pydantic import TypeAdapter

from reports.rows import Campaign, Observation, ProgramRow, TimeSamples, Verdict, metrics
from reports.rows.history import KEY_METRICS, StoredProgram, StoredRun, StoredSide
from reports.rows.row import spelled_out


def program_of(row: ProgramRow, *, is_final: bool = True) -> StoredProgram:
    """Return what lists, comparisons and trends need of a row."""
    reasons = row.flip.reasons if row.flip else ()
    return StoredProgram(
        name=spelled_out(row.name),
        source=spelled_out(row.source),
        digest=row.digest,
        verdict=row.verdict,
        flip=row.flip.outcome if row.flip else None,
        reason=spelled_out(reasons[0].what if reasons else next(iter(row.reasons), "")),
        reasons=tuple(
            dict.fromkeys(
                (each.outcome, spelled_out(f"{each.kind} {each.subject}".strip()))
                for each in reasons
                if each.outcome != "safe"
            )
        )
        + _besides_the_flip(row),
        sides={each.side: _side(each) for each in row.observations},
        is_final=is_final,
        samples=row.time_samples,
    )


def _besides_the_flip(row: ProgramRow) -> tuple[tuple[Verdict, str], ...]:
    """Return what makes the verdict "difference" on pairs that are not the flip: ours are apart."""
    if row.verdict != "difference":
        return ()
    flip = (row.flip.left, row.flip.right) if row.flip else ()
    compared = [(e.left, e.right, e.metric) for e in row.comparisons if e.outcome == "different"]
    bugs = [
        (e.left, e.right, e.cause) for e in row.drift if e.cause in ("a bug", "another program")
    ]
    pairs = [each for each in (*compared, *bugs) if each[:2] != flip]
    told = (f"{left} and {right}: {what}" for left, right, what in pairs)
    return tuple(("difference", each) for each in dict.fromkeys(told))


def _side(observation: Observation) -> StoredSide:
    if (failure := observation.failure) is not None:
        return StoredSide(
            failure=spelled_out(f"{failure.kind} in {failure.stage} ({failure.type})")
        )
    values = {name: metrics.metric(name).read(observation) for name in KEY_METRICS.values()}
    figures = {name: value for name, value in values.items() if value is not None}
    leaves = observation.outputs
    return StoredSide(
        outputs=_digest([(each.path, each.sha256) for each in leaves]),
        output_types=_digest(
            [(each.path, each.shape, each.dtype, each.weak_type) for each in leaves]
        ),
        figures=figures,
    )


def _digest(leaves: Sequence[object]) -> str:
    """Return a digest of what the leaves are; "" where there are none."""
    text = repr(leaves).encode("utf-8", "backslashreplace")
    return hashlib.sha256(text).hexdigest()[:16] if leaves else ""


def column_of(metric: str) -> str:
    """Return the column that has a key metric.

    Example::

        >>> column_of("StableHLO bytes")
        'stablehlo_bytes'
    """
    return metric.lower().replace(" ", "_")


def run_of_file(file: str, campaign: Campaign) -> StoredRun:
    """Return the run that a JSON report is of; a report does not name its machine or its commit."""
    return StoredRun(
        id=None,
        started=campaign.created,
        finished=campaign.created,
        schema_version=campaign.schema_version,
        environment=campaign.environment,
        sides=campaign.sides,
        machine="",
        commit=None,
        settings=None,
        programs=len(campaign.programs),
        planned=len(campaign.programs),
        file=file,
    )


SAMPLES = TypeAdapter(tuple[TimeSamples, ...])
METRIC_COLUMNS = tuple(map(column_of, KEY_METRICS.values()))

# In `PRAGMA user_version` of the file: another one where a table changes, as by a key metric.
VERSION = 7
# `root` has the fields of a campaign but its programs, and `row` is a line of the JSON report,
# packed. What is listed, compared and drawn has columns, for which no row is read. `program` is a
# planned program as its campaign wrote it.
_TABLES = (
    "CREATE TABLE runs (id INTEGER PRIMARY KEY AUTOINCREMENT, started TEXT NOT NULL, "
    "finished TEXT, schema_version INTEGER NOT NULL, root TEXT NOT NULL, "
    "machine TEXT NOT NULL DEFAULT '', commit_id TEXT, committed TEXT, "
    "is_dirty INTEGER NOT NULL DEFAULT 0, settings TEXT, planned TEXT NOT NULL DEFAULT '[]', "
    "question TEXT NOT NULL DEFAULT '', plan INTEGER, options TEXT NOT NULL DEFAULT '')",
    "CREATE TABLE programs (run INTEGER NOT NULL REFERENCES runs, place INTEGER NOT NULL, "
    "name TEXT NOT NULL, source TEXT NOT NULL, digest TEXT NOT NULL, verdict TEXT NOT NULL, "
    "flip TEXT, reason TEXT NOT NULL, reasons TEXT NOT NULL, is_final INTEGER NOT NULL, "
    "PRIMARY KEY (run, place)) WITHOUT ROWID",
    "CREATE INDEX programs_by_name ON programs (name, run)",
    "CREATE TABLE sides (run INTEGER NOT NULL, place INTEGER NOT NULL, side TEXT NOT NULL, "
    "failure TEXT NOT NULL, outputs TEXT NOT NULL, output_types TEXT NOT NULL, "
    f"{', '.join(f'{each} REAL' for each in METRIC_COLUMNS)}, "
    "PRIMARY KEY (run, place, side)) WITHOUT ROWID",
    "CREATE TABLE rows (run INTEGER NOT NULL, place INTEGER NOT NULL, samples TEXT, "
    "row BLOB NOT NULL, PRIMARY KEY (run, place))",
    "CREATE TABLE plans (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL, "
    "digest TEXT NOT NULL, whole TEXT NOT NULL, total INTEGER NOT NULL, shard TEXT NOT NULL, "
    "sides TEXT NOT NULL, spec TEXT NOT NULL, started TEXT NOT NULL, finished TEXT, "
    "coverage TEXT NOT NULL DEFAULT '{}', rules TEXT NOT NULL DEFAULT '', "
    "libraries TEXT NOT NULL DEFAULT '[]')",
    "CREATE TABLE planned (plan INTEGER NOT NULL REFERENCES plans, place INTEGER NOT NULL, "
    "run INTEGER NOT NULL, name TEXT NOT NULL, program TEXT NOT NULL, state TEXT NOT NULL, "
    "why TEXT NOT NULL DEFAULT '', symptom TEXT NOT NULL DEFAULT '', "
    "line TEXT NOT NULL DEFAULT '', equation TEXT NOT NULL DEFAULT '', "
    "action TEXT NOT NULL DEFAULT '', target TEXT NOT NULL DEFAULT '', "
    "recipe TEXT NOT NULL DEFAULT '', against_itself TEXT NOT NULL DEFAULT '', "
    "machine TEXT NOT NULL DEFAULT '', seconds REAL, is_timed INTEGER NOT NULL DEFAULT 0, "
    "broken TEXT NOT NULL DEFAULT '', versions TEXT NOT NULL DEFAULT '', "
    "proof TEXT NOT NULL DEFAULT '', PRIMARY KEY (plan, place)) WITHOUT ROWID",
    "CREATE INDEX planned_by_state ON planned (plan, state, run)",
    "CREATE TABLE tasks (plan INTEGER NOT NULL REFERENCES plans, key TEXT NOT NULL, "
    "ended TEXT NOT NULL, machine TEXT NOT NULL, seconds REAL NOT NULL, "
    "processor_seconds REAL NOT NULL, floor_seconds REAL NOT NULL, lost TEXT NOT NULL, "
    "versions TEXT NOT NULL DEFAULT '')",
)


def make_tables(connection: sqlite3.Connection) -> None:
    """Make the tables of a new store, within the transaction of the caller."""
    for statement in _TABLES:
        connection.execute(statement)
    connection.execute(f"PRAGMA user_version = {VERSION}")


# What a planned program has come to, and what it has before it runs.
RESULT = (
    "state", "why", "symptom", "line", "equation", "action", "recipe", "against_itself", "broken",
    "proof", "machine", "versions", "seconds", "is_timed",
)  # fmt: skip
NO_RESULT = ("not run", *("",) * 11, None, False)
# Which planned programs all sides could run, and have no times: these are taken in a phase of its
# own. A program also breaks because one side fails, which then has nothing to time.
UNTIMED = (
    "NOT is_timed AND state IN ('safe', 'at a price', 'placed otherwise', 'breaks', 'disagree') "
    "AND NOT EXISTS "
    "(SELECT 1 FROM sides WHERE run = planned.run AND place = planned.place AND failure != '')"
)


def remove(connection: sqlite3.Connection, programs: Sequence[tuple[int, int]]) -> None:
    """Remove programs from all tables, each by its run and its place."""
    for table in ("programs", "sides", "rows"):
        query = f"DELETE FROM {table} WHERE run = ? AND place = ?"
        connection.executemany(query, programs)


def put(
    connection: sqlite3.Connection, run: int, place: int, program: StoredProgram, row: bytes
) -> None:
    """Write a program of a run, in the place of what is there; `row` is packed."""
    remove(connection, [(run, place)])
    key = {"run": run, "place": place}
    insert(
        connection,
        "programs",
        {
            **key,
            "name": program.name,
            "source": program.source,
            "digest": program.digest,
            "verdict": program.verdict,
            "flip": program.flip,
            "reason": program.reason,
            "reasons": json.dumps(program.reasons),
            "is_final": program.is_final,
        },
    )
    for side, each in program.sides.items():
        of_side = {
            "side": side,
            "failure": each.failure,
            "outputs": each.outputs,
            "output_types": each.output_types,
        }
        figures = {column_of(name): each.figures.get(name) for name in KEY_METRICS.values()}
        insert(connection, "sides", {**key, **of_side, **figures})
    samples = SAMPLES.dump_json(program.samples).decode("utf-8") if program.samples else None
    insert(connection, "rows", {**key, "row": row, "samples": samples})


def insert(connection: sqlite3.Connection, table: str, values: Mapping[str, object]) -> int:
    """Insert a row, given by its columns, and return its number where the table has numbers.

    Text is spelled out, for SQLite takes no halves of characters.
    """
    marks = ", ".join("?" * len(values))
    query = f"INSERT INTO {table} ({', '.join(values)}) VALUES ({marks})"
    row = [spelled_out(each) if isinstance(each, str) else each for each in values.values()]
    return connection.execute(query, row).lastrowid or 0


def packed(text: str) -> bytes:
    """Return the JSON of a row as a store has it; `unpacked` gives it back."""
    return zlib.compress(text.encode("utf-8"))


def unpacked(data: bytes) -> str:
    """Return the JSON of a row. Raises `ValueError` where it is damaged."""
    try:
        return zlib.decompress(data).decode("utf-8")
    except zlib.error as error:
        raise ValueError(str(error)) from error
