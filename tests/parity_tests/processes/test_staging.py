"""What JAX takes of the processors, added up over processes."""

import pytest
from program_files import program_file

from parity_tests.processes.options import RunOptions
from parity_tests.processes.protocol import Job
from parity_tests.processes.side_runs import run_sides
from parity_tests.processes.signs_of_life import staging_seconds


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
