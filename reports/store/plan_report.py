"""The report of a planned campaign, read off a store at any moment."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reports.output import json_file
from reports.rows.fail_rules import FailRule, parse
from reports.rows.plan import STATES, CauseGroup, PlanEnvironment, PlanProof, PlanReport, State
from reports.store.columns import UNTIMED
from reports.store.database import opened_for_reading, store_error
from reports.store.plan_reading import broken_of, labels_of, list_plans
from reports.store.plan_records import PROVED_ONLY, SAMPLED, StoredPlan
from reports.views.texts import counted

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
    has_rounds = any(json.loads(settings).get("rounds", "0") != "0" for _, _, settings, _ in roots)
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
        not_timed=tuple(_name(run, name, labels) for run, name in untimed) if has_rounds else (),
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
    "at a price", "unavailable",
)  # fmt: skip


def _common(texts: object) -> str:
    found = set(texts)  # type: ignore[call-overload]
    return found.pop() if len(found) == 1 else ""
