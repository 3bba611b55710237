"""Programs that are run again: until they have run, every reader of the store says "not run"."""

import dataclasses

import pytest

from parity_tests.campaign.scheduling import run_tasks
from parity_tests.campaign.tasks import TaskLost
from reports.rows.fail_rules import parse
from reports.store.plan_records import finished, without_row
from reports.store.plan_report import plan_report, recipes_of
from reports.store.plans import opened_plan
from reports.store.reading import list_runs, load_program, load_programs, load_run
from tests.helpers.built_grids import ENVIRONMENT, program
from tests.helpers.quick_tasks import run, run_with

NAMES = ("breaks", "safe")


def outcome(each):
    """Keep a program whose name says what the flip comes to."""
    row = program(each.name, "different" if each.name == "breaks" else "safe")
    return finished(each.place, row, parse("different"), recipe="[]")


def lost(waiting):
    for task in waiting:
        yield task, TaskLost(key=task.key, why="its process ended with signal SIGKILL")


@pytest.fixture
def plan(begin, tasks, tmp_path):
    """A plan that has ended, with a program that breaks and one that is safe."""
    with opened_plan(tmp_path / "runs.db", begin(NAMES, rules=("different",))) as plan:
        run_tasks(plan, tasks(NAMES), run_with(outcome))
        assert plan.finish()
        yield plan


def test_a_program_to_run_again_is_not_run_for_every_reader(plan):
    plan.put_coverage({"nesting": 3})
    assert plan.run_again(["breaks"]) == 1
    report = plan_report(plan.path)
    assert (report.states, report.finished) == ({"not run": 1, "safe": 1}, "")
    assert (report.causes, report.broken, report.coverage) == ((), (), {})
    [environment] = report.environments
    assert environment.machines == {"this one": 1}
    assert sum(environment.versions.values()) == 1
    assert list(recipes_of(plan.path, plan.plan)) == [1]

    [stored] = list_runs(plan.path)
    assert (stored.finished, stored.question) == ("", "")
    assert (stored.programs, stored.planned, stored.answer) == (1, 2, "yes")
    assert [each.name for each in load_programs(plan.path, stored)] == ["safe"]
    run = load_run(plan.path, "last")
    assert ([row.name for row in run.programs], run.not_run) == (["safe"], ("breaks",))


def test_a_program_that_is_lost_when_it_runs_again_has_no_result(plan, tasks):
    plan.run_again(["breaks"])
    [again] = tasks(NAMES[:1], attempts=1)
    run_tasks(plan, [again], lost)
    assert plan.finish()
    report = plan_report(plan.path)
    assert (report.states, bool(report.finished)) == ({"lost": 1, "safe": 1}, True)
    [stored] = list_runs(plan.path)
    assert (bool(stored.finished), stored.is_complete) == (True, False)
    assert stored.question == "1 lost, 1 safe"
    assert [each.name for each in load_programs(plan.path, stored)] == ["safe"]
    assert [row.name for row in load_run(plan.path, "last").programs] == ["safe"]


def test_a_program_that_runs_again_has_its_new_result(plan, tasks):
    plan.run_again(["breaks"])
    run_tasks(plan, tasks(NAMES), run)
    assert plan.finish()
    assert plan_report(plan.path).states == {"safe": 2}
    [stored] = list_runs(plan.path)
    assert (bool(stored.finished), stored.is_complete, stored.question) == (True, True, "2 safe")
    assert load_program(plan.path, run=1, place=0).flip.outcome == "safe"


def test_nothing_to_run_again_leaves_the_campaign_ended(plan):
    assert plan.run_again(["lost"]) == 0
    assert plan_report(plan.path).finished == list_runs(plan.path)[0].finished != ""


def test_a_run_of_another_environment_stays_as_it_is(begin, tasks, tmp_path):
    path = tmp_path / "runs.db"
    described = begin(NAMES, environments=(ENVIRONMENT, ENVIRONMENT))
    texts = [dataclasses.replace(each, environment=each.place) for each in described.programs]
    with opened_plan(path, dataclasses.replace(described, programs=texts)) as plan:
        run_tasks(plan, tasks(NAMES), run_with(outcome))
        plan.finish()
        plan.run_again(["breaks"])
    assert [(each.programs, bool(each.finished)) for each in list_runs(path)] == [
        (0, False),
        (1, True),
    ]


def test_a_program_whose_times_have_no_row_has_no_result(plan, tasks):
    [task] = tasks(NAMES)
    timed = task.model_copy(update={"rounds": 3})
    run_tasks(plan, [timed], run_with(lambda each: without_row(each.place, "no row")))
    assert plan_report(plan.path).states == {"could not compare": 2}
    assert load_run(plan.path, "last").programs == ()
