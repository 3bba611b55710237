"""What JAX takes of the processors, added up over processes."""

import pytest
from program_files import program_file

from parity_tests.processes.options import RunOptions
from parity_tests.processes.protocol import Job
from parity_tests.processes.side_runs import run_sides
from parity_tests.processes.staging import staging_seconds


def test_what_all_processes_say_is_added_up(tmp_path):
    for name, lines in {
        "legacy/0": "started 0\nstaging 0.25\ndone 0\n",
        "again/legacy/0": "stage trace\nstaging 0.5\nstaging 1.25\n",
        "serve/0": "started 0\n",
    }.items():
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "events").write_text(lines)
    assert staging_seconds(tmp_path) == 2.0
    assert staging_seconds(tmp_path / "legacy") == 0.25


def test_a_measured_program_says_what_its_row_says(tmp_path):
    job = Job(number=0, name="counted", target=f"{program_file('counts_its_builds')}:counted")
    recorded = run_sides([job], ("legacy", "jax-legacy"), tmp_path, RunOptions())
    times = [each.observation.times.processor for each in recorded.values()]
    assert staging_seconds(tmp_path) == pytest.approx(sum(times), abs=1e-5)
