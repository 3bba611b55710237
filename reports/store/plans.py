"""Planned campaigns in a store: begun, resumed, committed a task at a time, and read.

Each task is one transaction: the rows of its programs and their states. A program that has a state
keeps it, so that a task which was tried twice is written once.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import sqlite3
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from reports.rows.fail_rules import FailRule, parse
from reports.rows.history import RunBegin
from reports.rows.plan import STATES, State
from reports.rows.row import now, spelled_out
from reports.store import writing
from reports.store.columns import NO_RESULT, RESULT, UNTIMED, insert, put, remove
from reports.store.database import opened_for_writing, store_error, transaction
from reports.store.plan_records import (
    HELPS,
    Finished,
    PlanBegin,
    StoredPlan,
    TaskEnd,
    broken_without_row,
)
from reports.store.plan_report import broken_by_place

NOT_RUN: State = "not run"


@dataclass(frozen=True)
class PlanWriter:
    """A plan in a store; each call is one transaction, and raises `StoreError`."""

    path: Path
    connection: sqlite3.Connection
    plan: int

    def pending(self) -> list[str]:
        """Return the records of the programs that are not run, in the order of the plan."""
        query = "SELECT program FROM planned WHERE plan = ? AND state = ? ORDER BY place"
        return [text for (text,) in self.connection.execute(query, (self.plan, NOT_RUN))]

    def untimed(self) -> list[str]:
        """Return the records of the programs that all sides could run, and that have no times."""
        query = f"SELECT program FROM planned WHERE plan = ? AND {UNTIMED} ORDER BY place"
        return [text for (text,) in self.connection.execute(query, (self.plan,))]

    def commit(
        self, end: TaskEnd, programs: Sequence[Finished], *, is_timed: bool = False
    ) -> list[State]:
        """Write what a task has run, each program once; return the states that are new.

        With `is_timed` programs that were not timed yet are written in the place of what is there.
        """
        due = "NOT is_timed" if is_timed else f"state = '{NOT_RUN}'"
        query = f"SELECT run FROM planned WHERE plan = ? AND place = ? AND {due}"
        states, runs = [], set()
        with transaction(self.path, self.connection):
            for each in programs:
                for (run,) in self.connection.execute(query, (self.plan, each.place)).fetchall():
                    self._put(run, each, end, is_timed and _has_times(each))
                    states.append(each.state)
                    runs.add(run)
            for run in runs:
                self._keep_machine(run, end.machine)
            self._put_task(end)
        return states

    def lose(self, end: TaskEnd, places: Sequence[int], *, for_good: bool) -> None:
        """Write that a task was lost, and with `for_good` that its programs are."""
        with transaction(self.path, self.connection):
            self._put_task(end)
            if for_good:
                self.connection.executemany(
                    "UPDATE planned SET state = 'lost', why = ?, action = ? "
                    "WHERE plan = ? AND place = ? AND state = ?",
                    [
                        (spelled_out(end.lost), HELPS["lost"], self.plan, place, NOT_RUN)
                        for place in places
                    ],
                )

    def run_again(self, states: Collection[State]) -> int:
        """Make programs of some states due once more, and return how many they are.

        Their results are removed: they are not run for any reader until they have run again.
        """
        query = (
            "SELECT run, place FROM planned WHERE plan = ? "
            f"AND state IN ({', '.join('?' * len(states))})"
        )
        with transaction(self.path, self.connection):
            due = self.connection.execute(query, (self.plan, *states)).fetchall()
            remove(self.connection, due)
            for _, place in due:
                self._set_result(place, *NO_RESULT)
            self.connection.executemany(
                "UPDATE runs SET finished = NULL, question = '' WHERE id = ?",
                [(run,) for run in {run for run, _ in due}],
            )
            if due:
                self.connection.execute(
                    "UPDATE plans SET finished = NULL, coverage = '{}' WHERE id = ?", (self.plan,)
                )
        return len(due)

    def generated(self) -> list[tuple[int, str, State]]:
        """Return the place, the recipe and the state of each generated program that was run."""
        query = (
            "SELECT place, recipe, state FROM planned WHERE plan = ? AND recipe != '' "
            "ORDER BY place"
        )
        return self.connection.execute(query, (self.plan,)).fetchall()

    def put_coverage(self, coverage: Mapping[str, int]) -> None:
        """Write what the generated programs cover, by kind."""
        with transaction(self.path, self.connection):
            self.connection.execute(
                "UPDATE plans SET coverage = ? WHERE id = ?", (json.dumps(coverage), self.plan)
            )

    def finish(self, ended: str = "") -> bool:
        """Close the plan and its runs if every program has a state, and say whether that is so.

        They have `ended` now, unless another time is given.
        """
        with transaction(self.path, self.connection):
            query = "SELECT count(*) FROM planned WHERE plan = ? AND state = ?"
            [left] = self.connection.execute(query, (self.plan, NOT_RUN)).fetchone()
            if left:
                return False
            values = (ended or now(), self.plan)
            self._answer_runs()
            self.connection.execute(
                "UPDATE plans SET finished = ? WHERE id = ? AND finished IS NULL", values
            )
            self.connection.execute(
                "UPDATE runs SET finished = ? WHERE plan = ? AND finished IS NULL", values
            )
            self.connection.execute(
                "UPDATE programs SET is_final = 1 "
                "WHERE run IN (SELECT id FROM runs WHERE plan = ?)",
                (self.plan,),
            )
        return True

    def hold_to(self, rules: Sequence[FailRule]) -> None:
        """Write which rules each program breaks, where they are others than before."""
        texts = _listed([each.text for each in rules])
        query = "SELECT rules FROM plans WHERE id = ?"
        [before] = self.connection.execute(query, (self.plan,)).fetchone()
        if before == texts:
            return
        broken = [
            (_listed(found), self.plan, place)
            for place, found in broken_by_place(self.connection, self.plan, rules)
        ]
        with transaction(self.path, self.connection):
            self.connection.executemany(
                "UPDATE planned SET broken = ? WHERE plan = ? AND place = ?", broken
            )
            self.connection.execute("UPDATE plans SET rules = ? WHERE id = ?", (texts, self.plan))

    def _put(self, run: int, ran: Finished, end: TaskEnd, is_timed: bool) -> None:
        if ran.program is not None:
            put(self.connection, run, ran.place, ran.program, ran.packed)
        else:
            remove(self.connection, [(run, ran.place)])
        self._set_result(
            ran.place, ran.state, ran.why, ran.symptom, ran.line, ran.equation, ran.action,
            ran.recipe, ran.against_itself, _listed(ran.broken), spelled_out(ran.proof),
            spelled_out(end.machine), spelled_out(end.versions), ran.seconds, is_timed,
        )  # fmt: skip

    def _set_result(self, place: int, *result: object) -> None:
        columns = ", ".join(f"{column} = ?" for column in RESULT)
        query = f"UPDATE planned SET {columns} WHERE plan = ? AND place = ?"
        self.connection.execute(query, (*result, self.plan, place))

    def _answer_runs(self) -> None:
        """Write into each run of the plan what its programs came to."""
        counted = self.connection.execute(
            "SELECT run, state, count(*) FROM planned WHERE plan = ? GROUP BY run, state",
            (self.plan,),
        ).fetchall()
        for run in {run for run, _, _ in counted}:
            states = {state: count for of, state, count in counted if of == run}
            said = ", ".join(f"{states[each]:,} {each}" for each in STATES if each in states)
            self.connection.execute("UPDATE runs SET question = ? WHERE id = ?", (said, run))
            name_machine(self.connection, run)

    def _keep_machine(self, run: int, machine: str) -> None:
        """Name the machine of a run anew where a task has run on another one.

        Several are counted anew when the run ends: that reads all programs of the plan.
        """
        query = "SELECT machine FROM runs WHERE id = ?"
        [named] = self.connection.execute(query, (run,)).fetchone()
        if named != _node(machine) and not named.endswith(_several(run)):
            name_machine(self.connection, run)

    def _put_task(self, end: TaskEnd) -> None:
        insert(
            self.connection, "tasks", {"plan": self.plan, "ended": now(), **dataclasses.asdict(end)}
        )


def name_machine(connection: sqlite3.Connection, run: int) -> None:
    """Write into a run which machine measured it, within the transaction of the caller.

    Several have a name that no other run has: times of such runs are not compared.
    """
    found = connection.execute(
        "SELECT DISTINCT machine FROM planned WHERE run = ? AND machine != ''", (run,)
    ).fetchall()
    nodes = {_node(machine) for (machine,) in found}
    if nodes:
        name = nodes.pop() if len(nodes) == 1 else f"{len(nodes)}{_several(run)}"
        connection.execute("UPDATE runs SET machine = ? WHERE id = ?", (name, run))


def _node(machine: str) -> str:
    return machine.partition(",")[0]


def _several(run: int) -> str:
    return f" machines of run {run}"


def _has_times(ran: Finished) -> bool:
    """Say whether a program has times of each side: all processes that take them may have failed.

    Programs without times are timed when their campaign goes on.
    """
    program = ran.program
    return program is not None and program.sides.keys() <= {each.side for each in program.samples}


def _listed(rules: Sequence[str]) -> str:
    return json.dumps(rules) if rules else ""


@contextlib.contextmanager
def opened_plan(path: Path, begin: PlanBegin, *, anew: bool = False) -> Iterator[PlanWriter]:
    """Go on with the last plan of this digest and shard, or begin it; `anew` always begins.

    Raises `StoreError` where the programs of the spec are others than those of the plan.
    """
    with opened_for_writing(path) as connection:
        with transaction(path, connection):
            plan = None if anew else _unfinished(path, connection, begin)
            if plan is None:
                plan = _insert(connection, begin)
        yield PlanWriter(path, connection, plan)


def _unfinished(path: Path, connection: sqlite3.Connection, begin: PlanBegin) -> int | None:
    found = connection.execute(
        "SELECT id, whole FROM plans WHERE digest = ? AND shard = ? ORDER BY id DESC LIMIT 1",
        (begin.digest, begin.shard),
    ).fetchone()
    if found is None:
        return None
    if found[1] != begin.whole:
        raise store_error(
            path,
            f"campaign {found[0]} is of the same spec, and its programs, a file that they import, "
            "or a variable that they run with (JAX_*, XLA_FLAGS) has changed since",
            "begin another one with --anew",
        )
    return int(found[0])


def insert_plan(connection: sqlite3.Connection, plan: PlanBegin | StoredPlan, started: str) -> int:
    """Insert a plan without its runs, within the transaction of the caller; return its number."""
    return insert(
        connection,
        "plans",
        {
            "name": plan.name,
            "digest": plan.digest,
            "whole": plan.whole,
            "total": plan.total,
            "shard": plan.shard,
            "sides": json.dumps(plan.sides),
            "spec": plan.spec,
            "rules": _listed(plan.rules),
            "libraries": json.dumps([each.model_dump() for each in plan.libraries]),
            "started": started,
        },
    )


def _insert(connection: sqlite3.Connection, begin: PlanBegin) -> int:
    plan = insert_plan(connection, begin, now())
    runs = []
    for number, environment in enumerate(begin.environments):
        names = [each.name for each in begin.programs if each.environment == number]
        run = writing.insert_run(
            connection,
            RunBegin(
                started=now(),
                environment=environment,
                sides=begin.sides,
                machine=begin.machine,
                settings=begin.settings,
                planned=tuple(names),
            ),
        )
        options = begin.options[number] if begin.options else ""
        connection.execute(
            "UPDATE runs SET plan = ?, options = ? WHERE id = ?", (plan, spelled_out(options), run)
        )
        runs.append(run)
    rules = parse(",".join(begin.rules))
    for each in begin.programs:
        state = NOT_RUN
        if each.unavailable:
            state = "unavailable" if each.is_missing else "could not compare"
        insert(
            connection,
            "planned",
            {
                "plan": plan,
                "place": each.place,
                "run": runs[each.environment],
                "name": each.name,
                "program": each.text,
                "target": each.target,
                "state": state,
                "why": each.unavailable,
                "broken": _listed(broken_without_row(state, rules)),
            },
        )
    return plan
