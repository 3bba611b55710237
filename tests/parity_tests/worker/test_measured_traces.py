"""Hazards are read off the trace of the measurement, until a program of the process reads."""

from itertools import pairwise

import pytest
from program_files import program_file

from parity_tests.evidence.folder_layout import side_folder
from parity_tests.processes.options import RunOptions
from parity_tests.processes.protocol import Job
from parity_tests.processes.side_runs import run_sides

FILE = program_file("trust/shares_a_reader")
NAMES = ("comes_first", "reads_nothing", "reads", "reads_what_was_traced")
SIDE = "jax-simplified"


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    """The hazards of each program, how often it was traced, and what the process said."""
    folder = tmp_path_factory.mktemp("campaign")
    jobs = [Job(number=n, name=name, target=f"{FILE}:{name}") for n, name in enumerate(NAMES)]
    options = RunOptions(steady_calls=0, flips="first", hazards_on=SIDE)
    recorded = run_sides(jobs, [SIDE], folder, options)
    [log] = side_folder(folder, SIDE).glob("*/log")
    lines = log.read_text().splitlines()
    hazards = {job.name: recorded[job.number, SIDE].hazards() for job in jobs}
    [events] = side_folder(folder, SIDE).glob("*/events")
    traces = {name: lines.count(f"traced {name}") for name in NAMES}
    return hazards, traces, events.read_text().splitlines()


def test_detecting_hazards_after_a_measurement_has_a_time_limit_of_its_own(ran):
    *_, events = ran
    followed = dict(pairwise(events))
    for number, name in enumerate(NAMES):
        expected = None if name == "reads_nothing" else "stage hazards"
        assert followed.get(f"measured {number}") == expected


def test_a_program_that_reads_nothing_is_not_traced_once_more(ran):
    _, traces, _ = ran
    assert traces["reads_nothing"] == 1


def test_its_hazards_are_found_all_the_same(ran):
    hazards, *_ = ran
    assert [each.kind for each in hazards["reads_nothing"].hazards] == ["hoisted more than once"]
    assert hazards["comes_first"].hazards == ()


@pytest.mark.parametrize("name", ["reads", "reads_what_was_traced"])
def test_what_a_function_reads_is_found_although_jax_has_traced_it_before(ran, name):
    hazards, traces, _ = ran
    assert "reads the flag" in [each.kind for each in hazards[name].hazards]
    assert traces[name] == 7  # measured, called four times as written, and traced in both forms
