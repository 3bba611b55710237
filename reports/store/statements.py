"""The statements that write one program, in all tables of the present version."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence

from pydantic import TypeAdapter

from reports.rows import TimeSamples
from reports.rows.history import KEY_METRICS, StoredProgram
from reports.store.columns import column_of

SAMPLES = TypeAdapter(tuple[TimeSamples, ...])
METRIC_COLUMNS = tuple(map(column_of, KEY_METRICS.values()))
_SIDE_COLUMNS = ("run", "place", "side", "failure", "outputs", "output_types", *METRIC_COLUMNS)
_PUT_SIDE = (
    f"INSERT INTO sides ({', '.join(_SIDE_COLUMNS)}) VALUES ({', '.join('?' * len(_SIDE_COLUMNS))})"
)

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
    connection: sqlite3.Connection, run: int, place: int, program: StoredProgram, packed: bytes
) -> None:
    """Write a program of a run, in the place of what is there; `packed` is its row."""
    remove(connection, [(run, place)])
    connection.execute(
        "INSERT INTO programs (run, place, name, source, digest, verdict, flip, reason, "
        "reasons, is_final) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            run,
            place,
            program.name,
            program.source,
            program.digest,
            program.verdict,
            program.flip,
            program.reason,
            json.dumps(program.reasons),
            program.is_final,
        ),
    )
    connection.executemany(
        _PUT_SIDE,
        [
            (
                run,
                place,
                side,
                each.failure,
                each.outputs,
                each.output_types,
                *(each.figures.get(metric) for metric in KEY_METRICS.values()),
            )
            for side, each in program.sides.items()
        ],
    )
    samples = SAMPLES.dump_json(program.samples).decode("utf-8") if program.samples else None
    connection.execute(
        "INSERT INTO rows (run, place, row, samples) VALUES (?, ?, ?, ?)",
        (run, place, packed, samples),
    )
