"""Who waits for a task hears that it is at work."""

import pytest
from program_files import program_file

from parity_tests.processes.options import RunOptions
from parity_tests.processes.protocol import Job, Listed, Listing
from parity_tests.processes.side_runs import run_sides
from parity_tests.processes.signs_of_life import signs_told, staging_seconds
from parity_tests.run.collection import Collected, Context
from parity_tests.run.comparing import draft_of
from parity_tests.run.options import CampaignOptions


def test_a_process_gives_a_sign_when_it_starts_and_when_it_says_something(tmp_path):
    job = Job(number=0, name="counted", target=f"{program_file('counts_its_builds')}:counted")
    said = []
    with signs_told(lambda: said.append([each.read_text() for each in tmp_path.rglob("events")])):
        run_sides([job], ["jax-legacy"], tmp_path, RunOptions())
    assert said[0] == []  # it has not started
    assert said[-1][0].endswith("done 0\n")


def test_each_program_that_is_compared_gives_a_sign(tmp_path):
    def ask():
        pytest.fail("it was asked")

    missing = Listed(name="flax", target="corpus.flax", unavailable="flax is not installed")
    context = Context(Collected(Listing(programs=(missing,))), CampaignOptions(), tmp_path)
    signs = []
    with signs_told(lambda: signs.append(1)):
        draft_of(context, 0, ask, ask)
    draft_of(context, 0, ask, ask)  # nobody is told any more
    assert signs == [1]


def test_what_processes_say_is_what_the_rows_say_and_is_heard_once(tmp_path):
    job = Job(number=0, name="counted", target=f"{program_file('counts_its_builds')}:counted")
    before = staging_seconds()
    recorded = run_sides([job], ("legacy", "jax-legacy"), tmp_path, RunOptions())
    times = [each.observation.times.processor for each in recorded.values()]
    heard = staging_seconds() - before
    assert heard == pytest.approx(sum(times), abs=1e-5)

    # A campaign that goes on in this folder runs nothing again, and so takes nothing.
    run_sides([job], ("legacy", "jax-legacy"), tmp_path, RunOptions())
    assert staging_seconds() - before == heard
