"""What a store knows of its plans: listed, by name, by recipe, and which rules they break."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from reports.output import json_file
from reports.rows import SIDES
from reports.rows.fail_rules import FailRule
from reports.rows.plan import BrokenRule, PlanLibrary, State
from reports.store.columns import unpacked
from reports.store.database import opened_for_reading
from reports.store.finished import broken_rules, broken_without_row
from reports.store.plan_records import StoredPlan


def list_plans(path: Path) -> list[StoredPlan]:
    """Return the plans of a store, the first one first. Raises `StoreError`."""
    with opened_for_reading(path) as connection:
        connection.row_factory = sqlite3.Row
        found = connection.execute(
            "SELECT id, name, digest, whole, total, shard, sides, spec, started, "
            "coalesce(finished, '') AS finished, coverage, rules, libraries FROM plans ORDER BY id"
        ).fetchall()
    return [_plan_of(dict(row)) for row in found]


def _plan_of(row: Mapping[str, Any]) -> StoredPlan:
    sides, rules, libraries = json.loads(row["sides"]), row["rules"], json.loads(row["libraries"])
    return StoredPlan(
        **{
            **row,
            "sides": tuple(each for each in SIDES if each in sides),
            "coverage": json.loads(row["coverage"]),
            "rules": tuple(json.loads(rules)) if rules else (),
            "libraries": tuple(map(PlanLibrary.model_validate, libraries)),
        }
    )


def labels_of(roots: Mapping[int, str]) -> dict[int, str]:
    """Name the environments of runs by their JAX, and by their Python where that is not enough."""
    environments = {run: json_file.campaign_of(root, ()).environment for run, root in roots.items()}
    jax = Counter(each.jax for each in environments.values())
    return {
        run: each.jax if jax[each.jax] == 1 else f"{each.jax} py{each.python} (run {run})"
        for run, each in environments.items()
    }


def planned_names(path: Path, plan: int, states: Collection[State]) -> list[tuple[str, str]]:
    """Return the programs of a plan that are in some states, each with its environment.

    That is "" where the plan has one environment. Raises `StoreError`.

    Example::

        planned_names(Path("runs.db"), 1, ["lost"]) == [("step", "")]
    """
    marks = ", ".join("?" * len(states))
    query = f"SELECT name, run FROM planned WHERE plan = ? AND state IN ({marks}) ORDER BY place"
    with opened_for_reading(path) as connection:
        found = connection.execute("SELECT id, root FROM runs WHERE plan = ?", (plan,))
        labels = labels_of(dict(found.fetchall()))
        named = labels if len(labels) > 1 else {}
        return [
            (name, named.get(run, "")) for name, run in connection.execute(query, (plan, *states))
        ]


def first_program(path: Path, plan: int) -> str:
    """Return the record of the first program of a plan, and "" where it has none.

    Raises `StoreError`.
    """
    query = "SELECT program FROM planned WHERE plan = ? ORDER BY place LIMIT 1"
    with opened_for_reading(path) as connection:
        found = connection.execute(query, (plan,)).fetchone()
    return str(found[0]) if found else ""


def seconds_by_name(path: Path) -> dict[str, float]:
    """Return how long the programs of the last plan of a store took, as far as that is known.

    Raises `StoreError`.
    """
    # Stores of before have 0 where nothing is known.
    query = (
        "SELECT name, max(seconds) FROM planned WHERE seconds > 0 "
        "AND plan = (SELECT max(plan) FROM planned WHERE seconds > 0) GROUP BY name"
    )
    with opened_for_reading(path) as connection:
        return dict(connection.execute(query).fetchall())


def recipes_of(path: Path, plan: int) -> dict[int, str]:
    """Return the recipes of the generated programs of a plan, by their places.

    Raises `StoreError`.
    """
    query = "SELECT place, recipe FROM planned WHERE plan = ? AND recipe != ''"
    with opened_for_reading(path) as connection:
        return dict(connection.execute(query, (plan,)).fetchall())


# -- which rules programs break: those that they were measured with, or others since ---------------


def broken_of(
    connection: sqlite3.Connection, plan: StoredPlan, rules: Sequence[FailRule]
) -> tuple[BrokenRule, ...]:
    """Return the rules that programs of a plan break, each with their number, in their order.

    Other rules than those of the plan are asked of each row, some hundreds of them a second.
    """
    counts: Counter[str] = Counter()
    if plan.rules == tuple(each.text for each in rules):
        query = "SELECT broken FROM planned WHERE plan = ? AND broken != ''"
        for (texts,) in connection.execute(query, (plan.id,)):
            counts.update(json.loads(texts))
    else:
        for _, texts in broken_by_place(connection, plan.id, rules):
            counts.update(texts)
    return tuple(
        BrokenRule(rule=each.text, status=each.status, programs=counts[each.text])
        for each in rules
        if counts[each.text]
    )


def broken_by_place(
    connection: sqlite3.Connection, plan: int, rules: Sequence[FailRule]
) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Ask each program of a plan that was run which rules it breaks, by its row."""
    found = connection.execute(
        "SELECT planned.place, state, row FROM planned "
        "LEFT JOIN rows ON rows.run = planned.run AND rows.place = planned.place "
        "WHERE plan = ? AND state NOT IN ('not run', 'lost')",
        (plan,),
    )
    for place, state, packed in found:
        if packed is None:
            yield place, broken_without_row(state, rules)
        else:
            row = json_file.program_of(unpacked(packed))
            yield place, broken_rules(row, state, rules)
