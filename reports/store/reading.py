"""Runs as they are read: listed, found by what the user calls them, and loaded whole."""

from __future__ import annotations

import json
import re
import sqlite3
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from reports.output import json_file
from reports.rows import ANSWER_OF, SCHEMA_VERSION, Campaign, FlipAnswer, ProgramRow
from reports.rows.history import KEY_METRICS, Commit, StoredProgram, StoredRun, StoredSide
from reports.store.columns import METRIC_COLUMNS, SAMPLES, unpacked
from reports.store.database import (
    CHANGED_BY_HAND,
    StoreError,
    opened_for_reading,
    store_error,
)

_REFERENCE = re.compile(r"last(?:~(\d{1,9}))?|\d{1,18}")


def list_runs(path: Path) -> list[StoredRun]:
    """Return the runs of a store, the first one first. Raises `StoreError`."""
    answers: dict[int, Counter[FlipAnswer]] = {}
    programs: Counter[int] = Counter()
    with opened_for_reading(path) as connection:
        counted = "SELECT run, flip, count(*) FROM programs GROUP BY run, flip"
        for run, flip, count in connection.execute(counted):
            programs[run] += count
            if flip is not None:
                if flip not in ANSWER_OF:
                    what = f"run {run} has a program with the flip {flip!r}, which there is not"
                    raise store_error(path, what, CHANGED_BY_HAND)
                answers.setdefault(run, Counter())[ANSWER_OF[flip]] += count
        connection.row_factory = sqlite3.Row
        rows = connection.execute(
            "SELECT id, started, coalesce(finished, '') AS finished, schema_version, root, "
            "machine, commit_id, committed, is_dirty, settings, planned, question FROM runs "
            "ORDER BY id"
        ).fetchall()
    return [_run(path, row, programs[row["id"]], answers.get(row["id"], {})) for row in rows]


def _run(
    path: Path, row: sqlite3.Row, programs: int, answers: Mapping[FlipAnswer, int]
) -> StoredRun:
    id_, commit, settings = row["id"], row["commit_id"], row["settings"]
    try:
        campaign = json_file.campaign_of(row["root"], ())
        return StoredRun(
            id=id_,
            started=row["started"],
            finished=row["finished"],
            schema_version=row["schema_version"],
            environment=campaign.environment,
            sides=campaign.sides,
            machine=row["machine"],
            commit=Commit(commit, row["committed"], bool(row["is_dirty"])) if commit else None,
            settings=None if settings is None else json.loads(settings),
            programs=programs,
            planned=len(json.loads(row["planned"])) or programs,
            answers=answers,
            question=row["question"],
        )
    except ValueError as error:
        raise _damaged(path, f"run {id_}", error) from error


def is_reference(text: str) -> bool:
    """Say whether a text names a run: its number, "last", or "last~2" for two before the last.

    Example::

        >>> is_reference("12"), is_reference("last~1"), is_reference("./12")
        (True, True, False)
    """
    return _REFERENCE.fullmatch(text) is not None


def find_run(path: Path, reference: str) -> StoredRun:
    """Return the run that a reference names. Raises `StoreError`, which names the others."""
    runs = list_runs(path)
    match = _REFERENCE.fullmatch(reference)
    if match and runs:
        if reference.isdecimal():
            found = [each for each in runs if each.id == int(reference)]
        else:
            found = runs[::-1][int(match[1] or 0) :][:1]
        if found:
            return found[0]
    there = f"it has runs {runs[0].id} to {runs[-1].id}" if runs else "it has no runs"
    what_to_do = f"name one by its number, or as last or last~1; {there}"
    raise store_error(path, f"it has no run {reference!r}", what_to_do)


def load_run(path: Path, reference: str) -> Campaign:
    """Load a run as the campaign that it was, bit by bit.

    An unfinished run has the programs that were finished, and `not_run` names the others. Raises
    `StoreError`.
    """
    run = find_run(path, reference)
    if run.schema_version != SCHEMA_VERSION:
        raise store_error(
            path,
            f"{run.label} has rows of schema {run.schema_version}, and this constparity reads "
            f"{SCHEMA_VERSION}",
            "load it with the constparity that wrote it",
        )
    with opened_for_reading(path) as connection:
        query = "SELECT root, planned FROM runs WHERE id = ?"
        [root, planned] = connection.execute(query, (run.id,)).fetchone()
        query = "SELECT row FROM rows WHERE run = ? ORDER BY place"
        packed = [each for (each,) in connection.execute(query, (run.id,))]
    try:
        campaign = json_file.campaign_of(root, map(unpacked, packed))
    except ValueError as error:
        raise _damaged(path, run.label, error) from error
    if run.finished:
        return campaign
    there = {row.name for row in campaign.programs}
    missing = tuple(name for name in json.loads(planned) if name not in there)
    return campaign.model_copy(update={"not_run": missing})


def load_programs(path: Path, run: StoredRun) -> list[StoredProgram]:
    """Return the programs of a run as its columns have them. Raises `StoreError`."""
    columns = ", ".join(["failure", "outputs", "output_types", *METRIC_COLUMNS])
    with opened_for_reading(path) as connection:
        sides = connection.execute(
            f"SELECT place, side, {columns} FROM sides WHERE run = ?", (run.id,)
        )
        of_place: dict[int, dict[str, StoredSide]] = {}
        for place, side, failure, outputs, types, *values in sides:
            figures = {
                metric: value
                for metric, value in zip(KEY_METRICS.values(), values, strict=True)
                if value is not None
            }
            of_place.setdefault(place, {})[side] = StoredSide(failure, outputs, types, figures)
        query = "SELECT place, samples FROM rows WHERE run = ? AND samples IS NOT NULL"
        sampled = dict(connection.execute(query, (run.id,)))
        rows = connection.execute(
            "SELECT place, name, source, digest, verdict, flip, reason, reasons, is_final "
            "FROM programs WHERE run = ? ORDER BY place",
            (run.id,),
        ).fetchall()
    try:
        return [
            StoredProgram(
                name=name,
                source=source,
                digest=digest,
                verdict=verdict,
                flip=flip,
                reason=reason,
                reasons=tuple((outcome, what) for outcome, what in json.loads(reasons)),
                sides=of_place.get(place, {}),  # type: ignore[arg-type]
                is_final=bool(is_final),
                samples=SAMPLES.validate_json(sampled[place]) if place in sampled else (),
            )
            for place, name, source, digest, verdict, flip, reason, reasons, is_final in rows
        ]
    except ValueError as error:
        raise _damaged(path, run.label, error) from error


def _damaged(path: Path, what: str, error: Exception) -> StoreError:
    return store_error(path, f"{what} is damaged in it ({error})", "load another run of it")


def load_program(path: Path, run: int, place: int) -> ProgramRow:
    """Load the row of one program of a run. Raises `StoreError`."""
    with opened_for_reading(path) as connection:
        query = "SELECT row FROM rows WHERE run = ? AND place = ?"
        found = connection.execute(query, (run, place)).fetchone()
    if found is None:
        raise store_error(path, f"run {run} has no program {place}", "name one that it has")
    try:
        return json_file.program_of(unpacked(found[0]))
    except ValueError as error:
        raise _damaged(path, f"program {place} of run {run}", error) from error
