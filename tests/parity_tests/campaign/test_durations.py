"""How long programs took, by which shards are balanced: what is known of each, and of no other."""

import contextlib
import sqlite3

import pytest

from parity_tests.campaign.scheduling import run_tasks
from parity_tests.campaign.tasks import Shard, programs_of_shard
from reports.rows import Failure, Observation, StageTimes
from reports.store.plan_records import finished, without_row
from reports.store.plan_report import plan_report, seconds_by_name
from reports.store.plans import opened_plan
from tests.helpers.quick_tasks import row, run_with

TIMES = StageTimes(trace=1.0, lower=2.0, compile=3.0, first_call=4.0, call=9.0, call_samples=1)


def measured(side, **fields):
    return Observation(program="step", side=side, **fields)


def failed(side, kind, limit=None):
    failure = Failure(kind=kind, stage="compile", type="", message="", limit=limit)
    return measured(side, failure=failure)


@pytest.mark.parametrize(
    ("observations", "seconds"),
    [
        ((measured("legacy", times=TIMES), measured("simplified", times=TIMES)), 20.0),
        ((failed("legacy", "timeout", 60.0), failed("simplified", "timeout", 60.0)), 120.0),
        ((measured("legacy", times=TIMES), failed("simplified", "timeout", 60.0)), 70.0),
        ((measured("legacy", times=TIMES), failed("simplified", "exception")), 10.0),
        ((failed("legacy", "memory", 2.0**30), failed("simplified", "crash")), None),
        ((), None),
    ],
)
def test_a_side_that_is_stopped_at_its_time_limit_took_as_long(observations, seconds):
    found = row("step").model_copy(update={"observations": observations})
    assert finished(0, found).seconds == seconds


@pytest.fixture
def store(begin, tasks, tmp_path):
    """A store in which one program took 20 seconds, and others took nobody knows how long."""
    names = ("step", "fails", "has no row", "loss")
    sides = (measured("legacy", times=TIMES), measured("simplified", times=TIMES))

    def kept(each):
        if each.name == "has no row":
            return without_row(each.place, "")
        observations = (failed("legacy", "exception"),) if each.name == "fails" else sides
        found = row(each.name).model_copy(update={"observations": observations})
        return finished(each.place, found)

    with opened_plan(tmp_path / "runs.db", begin(names)) as plan:
        run_tasks(plan, tasks(names, task_size=4), run_with(kept))
        yield plan


def test_what_nobody_knows_the_seconds_of_is_left_out(store):
    assert seconds_by_name(store.path) == {"step": 20.0, "loss": 20.0}


def test_the_example_of_a_cause_is_no_program_of_unknown_size(begin, tasks, tmp_path):
    names = ("of unknown size", "slow", "quick")
    seconds = {"slow": 20.0, "quick": 10.0}

    def kept(each):
        found = finished(each.place, row(each.name, "different"))
        return found.model_copy(update={"seconds": seconds.get(each.name)})

    with opened_plan(tmp_path / "causes.db", begin(names)) as plan:
        run_tasks(plan, tasks(names), run_with(kept))
    [cause] = plan_report(tmp_path / "causes.db").causes
    assert (cause.example, len(cause.programs)) == ("quick", 3)


def test_seconds_of_a_result_that_is_removed_are_not_known(store):
    store.run_again(["safe"])
    assert seconds_by_name(store.path) == {}


def test_no_seconds_of_an_older_store_are_not_known(store):
    with contextlib.closing(sqlite3.connect(store.path)) as older, older:
        older.execute("UPDATE planned SET seconds = 0.0 WHERE seconds IS NULL")
    assert seconds_by_name(store.path) == {"step": 20.0, "loss": 20.0}


def test_a_program_of_which_nothing_is_known_counts_as_the_mean(planned):
    programs = planned(["long", "unknown", "short", "shorter"])
    seconds = {"long": 30.0, "short": 18.0, "shorter": 12.0}  # 20 in the mean
    own = [each.name for each in programs_of_shard(programs, 1, Shard(2, 2), seconds)]
    assert own == ["unknown", "short"]
