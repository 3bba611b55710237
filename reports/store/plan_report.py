"""What a store knows of its plans, and the report of one, read off the store at any moment."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reports.output import json_file
from reports.rows import SIDES
from reports.rows.fail_rules import FailRule, parse
from reports.rows.plan import (
    STATES,
    BrokenRule,
    CauseGroup,
    PlanEnvironment,
    PlanLibrary,
    PlanProof,
    PlanReport,
    State,
)
from reports.store.columns import UNTIMED, unpacked
from reports.store.database import opened_for_reading, store_error
from reports.store.plan_records import (
    PROVED_ONLY,
    SAMPLED,
    StoredPlan,
    broken_rules,
    broken_without_row,
)
from reports.views.texts import counted


def list_plans(path: Path) -> list[StoredPlan]:
    """Return the plans of a store, the first one first. Raises `StoreError`."""
    with opened_for_reading(path) as connection:
        connection.row_factory = sqlite3.Row
        found = connection.execute(
            "SELECT id, name, digest, whole, total, shard, sides, spec, started, "
            "coalesce(finished, '') AS finished, coverage, rules, libraries FROM plans ORDER BY id"
        )
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


# States that have nothing to explain, or whose cause is not in the program.
_WITHOUT_CAUSE = frozenset({"safe", "proved", "not run", "refused"})


@dataclass(frozen=True)
class _Standing:
    """One planned program, as its columns have it."""

    run: int
    name: str
    state: State
    why: str
    symptom: str
    line: str
    equation: str
    action: str
    seconds: float | None
    place: int
    against_itself: str
    target: str
    proof: str


def plan_report(
    path: Path, plan: int | None = None, rules: Sequence[FailRule] | None = None
) -> PlanReport:
    """Report on a plan of a store, the last one where none is named. Raises `StoreError`.

    Its programs are held to `rules`, and to those of the plan where none are given.
    """
    found = find_plan(path, plan)
    if rules is None:
        rules = parse(",".join(found.rules))
    with opened_for_reading(path) as connection:
        broken = broken_of(connection, found, rules)

        def ask(query: str) -> list[Any]:
            return connection.execute(query, (found.id,)).fetchall()

        rows = ask(
            "SELECT run, name, state, why, symptom, line, equation, action, seconds, place, "
            "against_itself, target, proof FROM planned WHERE plan = ? ORDER BY place"
        )
        machines, versions = (
            ask(
                f"SELECT run, {column}, count(*) FROM planned WHERE plan = ? AND {column} != '' "
                f"GROUP BY run, {column} ORDER BY run, {column}"
            )
            for column in ("machine", "versions")
        )
        roots = ask("SELECT id, root, settings, options FROM runs WHERE plan = ? ORDER BY id")
        untimed = ask(f"SELECT run, name FROM planned WHERE plan = ? AND {UNTIMED} ORDER BY place")
        [tasks] = ask(
            "SELECT count(*), count(nullif(lost, '')), coalesce(sum(seconds), 0), "
            "coalesce(sum(processor_seconds), 0), coalesce(sum(floor_seconds), 0) FROM tasks "
            "WHERE plan = ?"
        )
        standings = [_Standing(*row) for row in rows]
        environments = []
        labels = labels_of({run: root for run, root, *_ in roots})
        has_rounds = any(
            json.loads(settings).get("rounds", "0") != "0" for _, _, settings, _ in roots
        )
        for run, root, _, options in roots:
            own = [each for each in standings if each.run == run]
            environments.append(
                PlanEnvironment(
                    label=labels[run],
                    run=run,
                    environment=json_file.campaign_of(root, ()).environment,
                    options=options,
                    states=_counts(own),
                    machines={machine: count for of, machine, count in machines if of == run},
                    versions={text: count for of, text, count in versions if of == run},
                )
            )
        count, lost, seconds, processor_seconds, floor_seconds = tasks
        return PlanReport(
            name=found.name,
            digest=found.digest,
            shard=found.shard,
            started=found.started,
            finished=found.finished,
            sides=found.sides,
            planned=len(standings),
            states=_counts(standings),
            environments=tuple(environments),
            libraries=found.libraries,
            causes=tuple(_causes(standings, labels)),
            broken=broken,
            differ_from_themselves={
                _name(each.run, each.name, labels): each.against_itself
                for each in standings
                if each.against_itself
            },
            not_timed=tuple(_name(run, name, labels) for run, name in untimed)
            if has_rounds
            else (),
            proof=_proof(standings, labels),
            coverage=found.coverage,
            tasks=count,
            tasks_lost=lost,
            seconds=seconds,
            processor_seconds=processor_seconds,
            floor_seconds=floor_seconds,
        )


def find_plan(
    path: Path, plan: int | None = None, *, digest: str = "", shard: str = ""
) -> StoredPlan:
    """Return a plan of a store, the last one where none is named. Raises `StoreError`.

    With a `digest` it is one of that spec, for several campaigns may have one store, and with a
    `shard` it is that one of it.
    """
    plans = list_plans(path)
    found = [
        each
        for each in plans
        if plan in (None, each.id)
        and (not digest or each.digest == digest)
        and (not shard or each.shard == shard)
    ]
    if not found:
        there = f"it has {counted(len(plans), 'planned campaign')}" if plans else "it has none"
        what = "it has no planned campaign" + (f" {plan}" if plan is not None else "")
        what += " of this spec and expression" if digest else ""
        what += f" with shard {shard}" if shard else ""
        raise store_error(path, what, f"begin one with constparity campaign; {there}")
    return found[-1]


def _counts(standings: Sequence[_Standing]) -> dict[State, int]:
    found = Counter(each.state for each in standings)
    return {state: found[state] for state in STATES if found[state]}


def _proof(standings: Sequence[_Standing], labels: dict[int, str]) -> PlanProof | None:
    proved = [each for each in standings if each.proof]
    if not proved:
        return None
    ran = [each for each in proved if each.proof != PROVED_ONLY]
    wrong = [each for each in ran if each.proof != SAMPLED]
    return PlanProof(
        not_run=len(proved) - len(ran),
        sampled=len(ran),
        contradicted={_name(each.run, each.name, labels): each.proof for each in wrong},
    )


def _name(run: int, name: str, labels: dict[int, str]) -> str:
    return f"{name} on {labels[run]}" if len(labels) > 1 else name


def _size(each: _Standing) -> tuple[bool, float, int]:
    """Return what the smallest program has least of; a program of unknown size comes last."""
    return each.seconds is None, each.seconds or 0.0, each.place


def _causes(standings: Sequence[_Standing], labels: dict[int, str]) -> list[CauseGroup]:
    """Group the programs that have something to explain: by their line, else by their symptom."""
    own = [each for each in standings if each.state not in _WITHOUT_CAUSE]
    shared = Counter((each.state, each.action, each.line) for each in own if each.line)
    groups: dict[tuple[str, ...], list[_Standing]] = {}
    for each in own:
        is_one_line = shared[each.state, each.action, each.line] > 1
        what = (each.line,) if is_one_line else (_symptom(each), each.equation)
        groups.setdefault((each.state, each.action, *what), []).append(each)

    found = []
    for members in groups.values():
        least = min(members, key=_size)
        symptoms = Counter(map(_symptom, members))
        found.append(
            CauseGroup(
                state=least.state,
                symptom=symptoms.most_common(1)[0][0],
                line=_common(each.line for each in members),
                equation=_common(each.equation for each in members),
                action=least.action,
                example=_name(least.run, least.name, labels),
                place=least.place,
                run=least.run,
                target=least.target,
                programs=tuple(_name(each.run, each.name, labels) for each in members),
            )
        )
    order = {state: number for number, state in enumerate(_SEVERITY)}
    return sorted(found, key=lambda each: (order[each.state], -len(each.programs)))


def _symptom(each: _Standing) -> str:
    """Return what was seen; of a program that A/A set apart, which of its metrics differed."""
    if each.against_itself:
        metrics = dict.fromkeys(part.partition(":")[0] for part in each.against_itself.split("; "))
        return f"differs from itself: {', '.join(metrics)}"
    return each.symptom or each.why


_SEVERITY: tuple[State, ...] = (
    "disagree", "breaks", "placed otherwise", "lost", "could not compare", "not repeatable",
    "agrees here, not proved", "at a price", "unavailable",
)  # fmt: skip


def _common(texts: object) -> str:
    found = set(texts)  # type: ignore[call-overload]
    return found.pop() if len(found) == 1 else ""
