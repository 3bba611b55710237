"""What a store knows of its plans: listed, by name, by recipe."""

from __future__ import annotations

import json
from collections.abc import Collection
from pathlib import Path

from reports.rows import SIDES
from reports.rows.plan import PlanLibrary, State
from reports.store.database import opened_for_reading
from reports.store.plan_records import StoredPlan


def list_plans(path: Path) -> list[StoredPlan]:
    """Return the plans of a store, the first one first. Raises `StoreError`.

    Example::

        list_plans(Path("runs.db"))[-1].name
    """
    with opened_for_reading(path) as connection:
        found = connection.execute(
            "SELECT id, name, digest, whole, total, shard, sides, spec, started, "
            "coalesce(finished, ''), coverage, rules, libraries FROM plans ORDER BY id"
        ).fetchall()
    return [_plan_of(*row) for row in found]


def _plan_of(
    id_: int,
    name: str,
    digest: str,
    whole: str,
    total: int,
    shard: str,
    sides: str,
    spec: str,
    started: str,
    finished: str,
    coverage: str,
    rules: str,
    libraries: str,
) -> StoredPlan:
    return StoredPlan(
        id=id_,
        name=name,
        digest=digest,
        whole=whole,
        total=total,
        shard=shard,
        sides=tuple(each for each in SIDES if each in json.loads(sides)),
        spec=spec,
        started=started,
        finished=finished,
        coverage=json.loads(coverage),
        rules=tuple(json.loads(rules)) if rules else (),
        libraries=tuple(map(PlanLibrary.model_validate, json.loads(libraries))),
    )


def planned_names(path: Path, plan: int, states: Collection[State]) -> list[str]:
    """Return the names of the programs of a plan that are in some states.

    Raises `StoreError`.

    Example::

        planned_names(Path("runs.db"), 1, ["lost"])
    """
    marks = ", ".join("?" * len(states))
    with opened_for_reading(path) as connection:
        return [
            name
            for (name,) in connection.execute(
                f"SELECT name FROM planned WHERE plan = ? AND state IN ({marks}) ORDER BY place",
                (plan, *states),
            )
        ]


def seconds_by_name(path: Path) -> dict[str, float]:
    """Return how long the programs of the last plan of a store took. Raises `StoreError`.

    Example::

        seconds_by_name(Path("last_week.db"))["step"]
    """
    query = (
        "SELECT name, max(seconds) FROM planned WHERE seconds IS NOT NULL "
        "AND plan = (SELECT max(plan) FROM planned WHERE seconds IS NOT NULL) GROUP BY name"
    )
    with opened_for_reading(path) as connection:
        return dict(connection.execute(query).fetchall())


def recipes_of(path: Path, plan: int) -> dict[int, str]:
    """Return the recipes of the generated programs of a plan, by their places.

    Raises `StoreError`.

    Example::

        recipes_of(Path("runs.db"), plan=1)[0]
    """
    query = "SELECT place, recipe FROM planned WHERE plan = ? AND recipe != ''"
    with opened_for_reading(path) as connection:
        return dict(connection.execute(query, (plan,)).fetchall())
