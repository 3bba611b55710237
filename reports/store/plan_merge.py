"""Shards of one plan put together into a store: each program once, or a refusal."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from reports.rows.plan import PlanLibrary
from reports.store.columns import METRIC_COLUMNS, RESULT, insert
from reports.store.database import (
    check_is_there,
    opened_for_reading,
    opened_for_writing,
    store_error,
    transaction,
)
from reports.store.plan_records import StoredPlan
from reports.store.plan_report import find_plan
from reports.store.plans import PlanWriter, insert_plan, name_machine

# The columns of each table that are copied as they are, behind the number of the run or plan.
_COPIED = {
    "programs": "place, name, source, digest, verdict, flip, reason, reasons, is_final",
    "sides": ", ".join(["place", "side", "failure", "outputs", "output_types", *METRIC_COLUMNS]),
    "rows": "place, samples, row",
}
_OF_RUN = (
    "started, finished, schema_version, root, commit_id, committed, is_dirty, settings, options"
)
_OF_PLANNED = ", ".join(["place", "name", "program", "target", *RESULT])
_OF_TASK = "key, ended, machine, versions, seconds, processor_seconds, floor_seconds, lost"


@dataclass(frozen=True)
class _Part:
    """A shard in its store."""

    path: Path
    plan: StoredPlan


def merge(shards: Sequence[Path], path: Path) -> int:
    """Put the last plans of some stores together in another one, and return its number there.

    Raises `StoreError` where they are not all the shards of one plan, each once, or where the store
    has this plan already; nothing is written then.
    """
    for each in shards:
        check_is_there(each, "name the stores of all shards")
    parts = [_Part(each, find_plan(each)) for each in shards]
    _check(parts)
    if path.exists() and any(path.samefile(each) for each in shards):
        raise store_error(path, "it is one of the shards", "put them together in another file")
    first = parts[0].plan
    with contextlib.ExitStack() as stack:
        sources = [stack.enter_context(opened_for_reading(part.path)) for part in parts]
        _check_places(parts, sources)
        target = stack.enter_context(opened_for_writing(path))
        with transaction(path, target):
            started = min(each.plan.started for each in parts)
            _check_is_new(path, target, first, started)
            whole = replace(first, shard="", libraries=tuple(_libraries(parts)))
            plan = insert_plan(target, whole, started)
            runs: list[int] = []
            for part, source in zip(parts, sources, strict=True):
                _copy(source, part.plan.id, target, plan, runs)
            _plan_runs(target, plan)
        ends = [each.plan.finished for each in parts]
        if all(ends):  # else programs are not run, or not timed: the campaign goes on there
            PlanWriter(path, target, plan).finish(max(ends))
    return plan


def _check(parts: Sequence[_Part]) -> None:
    """Make sure that these are all shards of one plan. Raises `StoreError`."""
    first = parts[0]
    for each in parts:
        if not each.plan.shard:
            what = "its campaign is a whole one, and no shard"
            raise store_error(each.path, what, "name stores of --shard")
        if (each.plan.digest, each.plan.whole) != (first.plan.digest, first.plan.whole):
            what = f"its shard is of another campaign than that of {str(first.path)!r}"
            for part in (each, first):
                names = [own.name for own in part.plan.libraries if own.left_out]
                what += f"; {part.path.name} leaves out {', '.join(names)}" if names else ""
            raise store_error(
                each.path,
                what,
                "run the shards of one spec, with the same programs, variables and versions",
            )
        if each.plan.rules != first.plan.rules:
            own, other = (", ".join(part.plan.rules) or "none" for part in (each, first))
            what = f"its rules are {own}, and those of {str(first.path)!r} {other}"
            raise store_error(each.path, what, "give all shards the same fail_on")
        if each.plan.shard.partition("/")[2] != first.plan.shard.partition("/")[2]:
            what = f"it has shard {each.plan.shard}, and {str(first.path)!r} {first.plan.shard}"
            raise store_error(each.path, what, "divide a campaign in one way")
    count = int(first.plan.shard.partition("/")[2])
    there = [int(each.plan.shard.partition("/")[0]) for each in parts]
    if twice := [each for each in parts if there.count(_number(each)) > 1]:
        what = f"shard {twice[-1].plan.shard} is named twice"
        raise store_error(twice[-1].path, what, "name each shard once")
    if missing := [str(number) for number in range(1, count + 1) if number not in there]:
        *others, last = missing
        which = f"shards {', '.join(others)} and {last}" if others else f"shard {last}"
        what = f"{which} of {count} {'are' if others else 'is'} missing beside it"
        raise store_error(first.path, what, "name the stores of all shards")


def _libraries(parts: Sequence[_Part]) -> list[PlanLibrary]:
    """Return the libraries of the whole, each with the tests that failed for any of the shards."""
    failures = {
        each.name: dict.fromkeys(
            test
            for part in parts
            for own in part.plan.libraries
            if own.name == each.name
            for test in own.failures
        )
        for each in parts[0].plan.libraries
    }
    return [
        each.model_copy(update={"failures": tuple(failures[each.name])})
        for each in parts[0].plan.libraries
    ]


def _check_is_new(path: Path, target: sqlite3.Connection, plan: StoredPlan, started: str) -> None:
    """Make sure that a store does not have these shards as a whole. Raises `StoreError`.

    A campaign that ran once more, from the next night on, has begun at another time.
    """
    query = (
        "SELECT max(id) FROM plans WHERE digest = ? AND whole = ? AND shard = '' AND started = ?"
    )
    [there] = target.execute(query, (plan.digest, plan.whole, started)).fetchone()
    if there is not None:
        what = f"it has this campaign already, as campaign {there}"
        raise store_error(path, what, "put the shards together in another file")


def _number(part: _Part) -> int:
    return int(part.plan.shard.partition("/")[0])


def _check_places(parts: Sequence[_Part], sources: Sequence[sqlite3.Connection]) -> None:
    """Make sure that the shards have each program of the plan once. Raises `StoreError`."""
    seen: dict[int, _Part] = {}
    query = "SELECT place FROM planned WHERE plan = ?"
    for part, source in zip(parts, sources, strict=True):
        for (place,) in source.execute(query, (part.plan.id,)):
            if place in seen:
                what = f"it has programs that {str(seen[place].path)!r} has, too"
                raise store_error(part.path, what, _BALANCED)
            seen[place] = part
    if len(seen) != parts[0].plan.total:
        what = f"the shards have {len(seen):,} of {parts[0].plan.total:,} programs"
        raise store_error(parts[0].path, what, _BALANCED)


_BALANCED = "give all shards the same --durations"


def _copy(
    source: sqlite3.Connection, plan: int, target: sqlite3.Connection, into: int, runs: list[int]
) -> None:
    """Copy a shard; `runs` has the runs of the merged plan, one for each environment."""
    own = source.execute(
        f"SELECT id, machine, {_OF_RUN} FROM runs WHERE plan = ? ORDER BY id", (plan,)
    ).fetchall()
    for number, (run, machine, *values) in enumerate(own):
        if number == len(runs):
            same = dict(zip(_OF_RUN.split(", "), values, strict=True))
            runs.append(insert(target, "runs", {"plan": into, "machine": machine, **same}))
        of_run = {"run": (run, runs[number])}
        for table, columns in _COPIED.items():
            _copy_rows(source, target, table, columns, of_run)
        _copy_rows(source, target, "planned", _OF_PLANNED, {"plan": (plan, into), **of_run})
    _copy_rows(source, target, "tasks", _OF_TASK, {"plan": (plan, into)})


def _copy_rows(
    source: sqlite3.Connection,
    target: sqlite3.Connection,
    table: str,
    columns: str,
    keys: Mapping[str, tuple[int, int]],
) -> None:
    """Copy the rows of one table, a part at a time; a key has its value there, and the new one."""
    before, after = zip(*keys.values(), strict=True)
    where = " AND ".join(f"{key} = ?" for key in keys)
    found = source.execute(f"SELECT {columns} FROM {table} WHERE {where}", before)
    names = ", ".join([*keys, columns])
    marks = ", ".join("?" * len(names.split(", ")))
    while rows := found.fetchmany(500):
        target.executemany(
            f"INSERT INTO {table} ({names}) VALUES ({marks})", [(*after, *row) for row in rows]
        )


def _plan_runs(connection: sqlite3.Connection, plan: int) -> None:
    """Write into each run of a plan the names that it was planned with, and its machine."""
    query = "SELECT id FROM runs WHERE plan = ?"
    for (run,) in connection.execute(query, (plan,)).fetchall():
        names = connection.execute(
            "SELECT name FROM planned WHERE plan = ? AND run = ? ORDER BY place", (plan, run)
        )
        connection.execute(
            "UPDATE runs SET planned = ?, finished = NULL WHERE id = ?",
            (json.dumps([name for (name,) in names]), run),
        )
        name_machine(connection, run)
