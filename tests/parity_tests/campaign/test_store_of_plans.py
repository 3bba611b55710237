"""A plan in a store: resumed, refused, run again, held to rules, and read."""

import contextlib
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from parity_tests.campaign.scheduling import run_tasks
from parity_tests.campaign.tasks import TaskLost
from reports.rows import (
    Comparison,
    DriftAttribution,
    Failure,
    FlipReason,
    FlipVerdict,
    Observation,
)
from reports.rows.fail_rules import parse
from reports.rows.plan import STATES
from reports.store import database
from reports.store.database import StoreError
from reports.store.plan_records import finished
from reports.store.plan_report import find_plan, list_plans, plan_report, planned_names
from reports.store.plans import opened_plan
from reports.store.reading import list_runs, load_run
from tests.helpers.built_grids import ENVIRONMENT, program
from tests.helpers.quick_tasks import result, row, run, run_with

ROOT = Path(__file__).parents[3]
NAMES = ("first", "second", "third", "fourth", "fifth")


def run_changed(changes):
    """Return what runs tasks of programs whose rows have `changes`."""
    return run_with(lambda each: finished(each.place, row(each.name).model_copy(update=changes)))


def test_the_same_spec_goes_on_and_another_one_begins(begin, tasks, tmp_path):
    path = tmp_path / "runs.db"
    with opened_plan(path, begin(NAMES)) as plan:
        run_tasks(plan, tasks(NAMES)[:1], run)
        first = plan.plan
    with opened_plan(path, begin(NAMES)) as plan:
        assert plan.plan == first
        assert len(plan.pending()) == 3
    with opened_plan(path, begin(NAMES), anew=True) as plan:
        assert plan.plan != first
    with opened_plan(path, begin(NAMES, digest="other")) as plan:
        assert len(plan.pending()) == 5


def test_a_spec_whose_programs_have_changed_does_not_go_on(begin, tmp_path):
    path = tmp_path / "runs.db"
    with opened_plan(path, begin(NAMES)):
        pass
    with (
        pytest.raises(StoreError, match=r"its programs, a file .* begin another"),
        opened_plan(path, begin(NAMES, whole="other")),
    ):
        pass


@pytest.mark.parametrize(
    ("damage", "asked"),
    [
        ("planned SET state = 'odd'", plan_report),
        ("planned SET broken = '{'", plan_report),
        ("runs SET settings = '{'", plan_report),
        ("plans SET sides = 'odd'", list_plans),
        ("plans SET coverage = '{'", list_plans),
        ("programs SET flip = 'odd'", list_runs),
    ],
)
def test_a_column_that_something_else_has_changed_is_told(damage, asked, begin, tasks, tmp_path):
    path = tmp_path / "runs.db"
    with opened_plan(path, begin(NAMES)) as plan:
        run_tasks(plan, tasks(NAMES), run)
        plan.finish()
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute(f"UPDATE {damage}")
    with pytest.raises(StoreError, match=r"runs.db': .*; something else has written to it"):
        asked(path)


def test_the_rows_of_a_plan_are_a_run_that_history_knows(begin, tasks, tmp_path):
    path = tmp_path / "runs.db"
    with opened_plan(path, begin(NAMES)) as plan:
        run_tasks(plan, tasks(NAMES), run)
        plan.finish()
    [stored] = list_runs(path)
    assert (stored.programs, stored.planned, stored.answer) == (5, 5, "yes")
    assert [row.name for row in load_run(path, "last").programs] == list(NAMES)


def test_a_program_that_disagrees_is_told_by_what_differs_from_stock_jax(begin, tasks, tmp_path):
    reasons = (
        "legacy and simplified: outputs differ",
        "simplified and jax-simplified: const args: 1 against 2",
    )
    differs = Comparison(
        metric="const args", left="simplified", right="jax-simplified", outcome="different",
        left_value="1", right_value="2",
    )  # fmt: skip
    changes = {"verdict": "difference", "reasons": reasons, "comparisons": (differs,)}

    with opened_plan(tmp_path / "runs.db", begin(NAMES[:1])) as plan:
        run_tasks(plan, tasks(NAMES[:1]), run_changed(changes))
    [cause] = plan_report(plan.path).causes
    assert (cause.state, cause.symptom) == (
        "disagree",
        "simplified and jax-simplified: const args: … against …",
    )
    assert cause.action.startswith("report it with a smaller program")


@pytest.mark.parametrize(
    ("kind", "type_", "option", "helps"),
    [
        ("timeout", "TimeLimit", "--timeout", "raise `timeout` in the spec"),
        ("memory", "MemoryLimit", "--memory-limit", "raise `memory_limit` in the spec"),
    ],
)
@pytest.mark.parametrize("is_of_flip", [True, False])
def test_a_limit_is_raised_in_the_spec(
    begin, tasks, tmp_path, kind, type_, option, helps, is_of_flip
):
    failure = Failure(kind=kind, stage="compile", type=type_, message="60 seconds")
    advice = FlipReason(
        outcome="could not compare", kind="failure", what="fails", action=f"raise {option}, or see"
    )
    note = FlipReason(outcome="safe", kind="note", what="times were not judged", action="rounds")
    flip = FlipVerdict(
        left="jax-legacy",
        right="jax-simplified",
        outcome="could not compare" if is_of_flip else "safe",
        reasons=(advice if is_of_flip else note,),
    )
    changes = {
        "verdict": "could not compare",
        "reasons": ("legacy failed",),
        "observations": (Observation(program="first", side="legacy", failure=failure),),
        "flip": flip,
    }

    with opened_plan(tmp_path / "runs.db", begin(NAMES[:1])) as plan:
        run_tasks(plan, tasks(NAMES[:1]), run_changed(changes))
    [cause] = plan_report(plan.path).causes
    assert (cause.state, cause.symptom) == (
        "could not compare",
        "fails" if is_of_flip else "legacy failed",
    )
    assert cause.action.startswith(helps)


def test_a_lost_program_says_how_it_is_run_once_more(begin, tasks, tmp_path):
    def run(waiting):
        for task in waiting:
            yield task, TaskLost(key=task.key, why="its process ended with signal SIGKILL")

    with opened_plan(tmp_path / "runs.db", begin(NAMES[:1])) as plan:
        run_tasks(plan, tasks(NAMES[:1]), run)
    [cause] = plan_report(plan.path).causes
    assert (cause.state, cause.symptom) == ("lost", "its process ended with signal SIGKILL")
    assert cause.action.endswith("--retry lost runs it once more")


def differing(task, outcome):
    """Make the result of a task whose programs come to `outcome`; one differs from itself."""

    def kept(each):
        differs = "output bits: 1 against 2" if each.name == "second" else ""
        found = program(each.name, outcome)
        return finished(each.place, found, task.campaign.rules, differs_from_itself=differs)

    return result(task, kept=kept)


def test_programs_are_held_to_the_rules_of_the_spec(begin, tasks, tmp_path):
    def run(waiting):
        for task in waiting:
            drifts = task.programs[0].name == "first"
            yield task, differing(task, "numerics drift, explained" if drifts else "different")

    rules = ("different", "drift", "not-compared", "larger")
    with opened_plan(tmp_path / "runs.db", begin(NAMES, rules=rules)) as plan:
        run_tasks(plan, tasks(NAMES, fail_on=rules), run)
    broken = [(each.rule, each.programs) for each in plan_report(plan.path).broken]
    # What differs from itself is no difference of sides.
    assert broken == [("different", 3), ("drift", 1), ("not-compared", 1)]


def test_other_rules_are_asked_of_the_rows_that_are_there(begin, tasks, tmp_path):
    path, names = tmp_path / "runs.db", NAMES[:3]
    with opened_plan(path, begin(names, rules=("drift",))) as plan:
        run_tasks(plan, tasks(names, fail_on=("drift",)), lambda waiting: (
            (task, differing(task, "different")) for task in waiting
        ))  # fmt: skip
        assert plan_report(path).broken == ()
        asked = plan_report(path, rules=parse("not-compared,different")).broken
        assert [(each.rule, each.programs) for each in asked] == [
            ("not-compared", 1),
            ("different", 2),
        ]
        plan.hold_to(parse("different"))
    assert [(each.rule, each.programs) for each in plan_report(path).broken] == [("different", 2)]


def test_a_program_that_differs_from_itself_is_set_apart(begin, tasks, tmp_path):
    with opened_plan(tmp_path / "runs.db", begin(NAMES[:2])) as plan:
        run_tasks(plan, tasks(NAMES[:2]), lambda waiting: (
            (task, differing(task, "different")) for task in waiting
        ))  # fmt: skip
    report = plan_report(plan.path)
    assert report.differ_from_themselves == {"second": "output bits: 1 against 2"}
    assert [(each.state, each.symptom, each.programs) for each in report.causes] == [
        ("breaks", "outputs are apart", ("first",)),
        ("not repeatable", "differs from itself: output bits", ("second",)),
    ]


def test_an_equation_is_the_cause_of_outputs_alone(begin, tasks, tmp_path):
    drift = DriftAttribution(
        left="jax-legacy",
        right="jax-simplified",
        cause="constant folding",
        evidence="",
        equation="mul, equation 3",
    )
    kinds = {"first": "outputs", "second": "placement", "third": "placement"}

    def kept(each):
        found = program(each.name, "different", kind=kinds[each.name])
        others = {"drift": (drift,)} if each.name != "third" else {}
        return finished(each.place, found.model_copy(update=others))

    with opened_plan(tmp_path / "runs.db", begin(NAMES[:3])) as plan:
        run_tasks(plan, tasks(NAMES[:3]), run_with(kept))
    # Two differ in where an output is, and one of them has other bits as well.
    assert sorted((each.equation, each.programs) for each in plan_report(plan.path).causes) == [
        ("", ("second", "third")),
        ("mul", ("first",)),
    ]


def test_the_versions_of_each_machine_are_kept(begin, tasks, tmp_path):
    other = ENVIRONMENT.model_copy(update={"python": "3.11.9"})

    def run(waiting):
        for number, task in enumerate(waiting):
            found = result(task).model_copy(update={"environment": other} if number else {})
            yield task, found

    with opened_plan(tmp_path / "runs.db", begin(NAMES)) as plan:
        run_tasks(plan, tasks(NAMES), run)
    [environment] = plan_report(plan.path).environments
    assert environment.versions == {
        "python 3.11.7, jax 0.10.2, jaxlib 0.10.2, numpy 2.4.0": 2,
        "python 3.11.9, jax 0.10.2, jaxlib 0.10.2, numpy 2.4.0": 3,
    }


def test_two_campaigns_write_to_one_store_in_turns(begin, tasks, tmp_path):
    path = tmp_path / "runs.db"
    with (
        opened_plan(path, begin(NAMES)) as one,
        opened_plan(path, begin(NAMES, digest="other")) as other,
    ):
        for part in tasks(NAMES):
            run_tasks(one, [part], run)
            run_tasks(other, [part], run)
    assert find_plan(path, digest="d").id == one.plan
    with pytest.raises(StoreError, match="no planned campaign of this spec and expression"):
        find_plan(path, digest="missing")
    assert plan_report(path, one.plan).states == plan_report(path, other.plan).states == {"safe": 5}


def check_adds_up(path, plan, names):
    """Check that a report has each program once, and is of one moment; return how many ran."""
    report = plan_report(path, plan)
    ran = len(names) - report.states.get("not run", 0)
    assert sum(report.states.values()) == report.planned == len(names)
    assert sum(report.environments[0].machines.values()) == ran
    assert report.tasks == -(-ran // 2)
    return ran


def test_two_campaigns_write_to_one_store_at_once_while_it_is_read(tmp_path, marks):
    path = tmp_path / "runs.db"
    names = {digest: [f"{digest} {number}" for number in range(8)] for digest in ("one", "other")}
    running = [
        subprocess.Popen(
            [sys.executable, "-m", "tests.helpers.quick_campaigns",
             path, digest, tmp_path / digest, *names[digest]],
            cwd=ROOT,
        )
        for digest in names
    ]  # fmt: skip

    def check():
        for each in list_plans(path):
            own = names[each.digest]
            check_adds_up(path, each.id, own)
            assert planned_names(path, each.id, STATES) == [(name, "") for name in own]
        assert all(run.programs <= run.planned == 8 for run in list_runs(path))

    try:
        while any(each.poll() is None for each in running):
            if path.exists():
                check()
    finally:
        for each in running:
            each.kill()
            each.wait()
    assert [each.returncode for each in running] == [0, 0]
    check()
    for digest, own in names.items():
        [plan] = [each for each in list_plans(path) if each.digest == digest]
        report = plan_report(path, plan.id)
        assert (report.states, report.tasks, bool(report.finished)) == ({"safe": 8}, 4, True)
        rows = load_run(path, str(report.environments[0].run)).programs
        assert [row.name for row in rows] == own
        assert [len((marks / name).read_text().split()) for name in own] == [1] * 8


def test_a_report_is_of_one_moment_although_tasks_end_meanwhile(
    begin, tasks, tmp_path, monkeypatch
):
    path = tmp_path / "runs.db"
    names = [str(number) for number in range(20)]
    waiting = iter(tasks(names))
    reader = database._reader

    def reading(path):
        """Connect; a task ends before each statement on planned programs or tasks."""
        connection = reader(path)
        connection.set_trace_callback(
            lambda said: "WHERE plan =" in said and run_tasks(plan, [next(waiting)], run)
        )
        return connection

    with opened_plan(path, begin(names)) as plan:
        monkeypatch.setattr(database, "_reader", reading)
        assert check_adds_up(path, plan.plan, names) < 20
