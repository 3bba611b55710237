"""Rounds of fresh processes: their order, and times of a campaign that are judged."""

import pytest
from program_files import program_file

from parity_tests.evidence.records import Recorded
from parity_tests.processes.protocol import Job, Listing
from parity_tests.run import measuring, run
from parity_tests.run.collection import Collected, Context
from parity_tests.run.options import CampaignOptions
from reports.rows import TIME_METRICS, Observation, StageTimes

PAIR = ("jax-legacy", "jax-simplified")


def context(folder, rounds=0, **measured):
    options = CampaignOptions(sides=PAIR, rounds=rounds)
    return Context(Collected(Listing()), options, folder, **measured)


def test_rounds_run_one_side_at_a_time_in_the_order_abba(tmp_path, monkeypatch):
    ran = []

    def run_sides(jobs, sides, folder, options):
        [side] = sides
        ran.append((folder.name, side))
        seconds = float(len(ran))
        times = StageTimes(
            trace=1, lower=2, compile=3, first_call=4, call=seconds, call_samples=3
        )  # fmt: skip
        observation = Observation(program="p", side=side, times=times)
        return {(0, side): Recorded(observation), (1, side): Recorded(failed(side))}

    def failed(side):
        return Observation(program="q", side=side)

    monkeypatch.setattr(measuring, "run_sides", run_sides)
    jobs = [Job(number=0, name="p", target="p"), Job(number=1, name="q", target="q")]
    samples = measuring.time_sides(jobs, context(tmp_path, rounds=2))
    a, b = PAIR
    assert ran == [("0", a), ("0", b), ("1", b), ("1", a), ("2", a), ("2", b), ("3", b), ("3", a)]
    # What was never taken, as compiling from a cache, has no row.
    assert {each.metric for each in samples[0]} == {
        "trace", "lower", "compile", "first call", "call",
    }  # fmt: skip
    calls = {each.side: each.seconds for each in samples[0] if each.metric == "call"}
    assert calls == {a: (1.0, 4.0, 5.0, 8.0), b: (2.0, 3.0, 6.0, 7.0)}
    assert 1 not in samples  # what fails has no times
    assert measuring.time_sides(jobs, context(tmp_path)) == {}


@pytest.fixture(scope="module")
def timed():
    """A program that does more on one side than on the other, and one that does not."""
    file = program_file("slower_on_one_side")
    return run.run([str(file)], CampaignOptions(sides=PAIR, rounds=4))


def test_a_planted_slowness_is_found_in_its_stage(timed):
    slower, raises = timed.programs
    by_metric = {each.metric: each for each in slower.times}
    assert by_metric["trace"].verdict == "slower"
    assert by_metric["trace"].ratio > 2
    assert by_metric["trace"].samples == (8, 8)
    assert set(by_metric) == set(TIME_METRICS)
    assert raises.times == raises.time_samples == ()


def test_raw_samples_are_kept(timed):
    slower, _ = timed.programs
    assert {(each.side, each.metric, len(each.seconds)) for each in slower.time_samples} == {
        (side, metric, 8) for side in PAIR for metric in TIME_METRICS
    }


def test_programs_are_measured_again_unless_one_process_of_each_side_settles_it(
    monkeypatch, tmp_path
):
    def taken(side, calls, compiling):
        times = StageTimes(
            trace=0, lower=0, compile=compiling, first_call=0, call=calls, call_samples=20,
            call_seconds=(calls,) * 20,
        )  # fmt: skip
        return Recorded(Observation(program="p", side=side, times=times))

    records = {
        number: {
            "jax-legacy": taken("jax-legacy", 1e-5, compiling),
            "jax-simplified": taken("jax-simplified", 1e-2, 1.0),
        }
        for number, compiling in enumerate((1.0, 29.0))
    }
    ran, told = [], []

    def run_sides(jobs, sides, *how, progress):
        ran.append((*sides, *(job.number for job in jobs)))
        progress(1, 1, f"{sides[0]}: p: compile")
        return {}

    monkeypatch.setattr(measuring, "run_sides", run_sides)
    jobs = [Job(number=number, name="p", target="model.py:p") for number in range(2)]
    begun = context(tmp_path, progress=lambda *step: told.append(step), records=records)
    measuring.measure_again(jobs, begun)
    assert ran == [
        ("jax-legacy", 0), ("jax-simplified", 0), ("jax-simplified", 0), ("jax-legacy", 0),
    ]  # fmt: skip
    assert told[2:4] == [
        (1, 4, "measured again: jax-simplified (p), a few seconds"),
        (1, 4, "measured again: jax-simplified: p: compile"),
    ]
