"""Tasks with real programs and processes: what differs from itself, and a disk that is full."""

import shutil

import pytest
from full_disk import FULL_DISK
from program_files import program_file

from parity_tests.planned.plan import PlannedProgram
from parity_tests.planned.running import run_task
from parity_tests.planned.spec import CampaignSpec
from parity_tests.planned.tasks import Cutter

SIDES = ("jax-legacy", "jax-simplified")
# Each process of a side counts those before it on this side, so the first ones are alike.
COUNTED = """
import functools
import os
from pathlib import Path

from parity_tests import program

RUNS = Path(os.environ["RUNS"], os.environ["JAX_USE_SIMPLIFIED_JAXPR_CONSTANTS"])


@functools.cache
def before():
    with open(RUNS, "a") as runs:
        runs.write("x")
    return len(RUNS.read_text())


@program(args=(1.0,))
def steady(x):
    return x + 1


@program
def counts_its_processes():
    return (lambda x: x + before()), (1.0,)
"""


def task_of(file, *names, **given):
    programs = [
        PlannedProgram(
            place=place, environment="here", corpus="models", name=name, target=f"{file}:{name}"
        )
        for place, name in enumerate(names)
    ]
    spec = CampaignSpec(sides=SIDES, attribute=False, **given)
    [task] = Cutter(spec, working_directory=str(file.parent)).tasks(programs)
    return task


def test_what_differs_from_itself_is_set_apart_by_name(tmp_path, monkeypatch):
    monkeypatch.setenv("RUNS", str(tmp_path))
    file, steps = tmp_path / "counted.py", []
    file.write_text(COUNTED)
    task = task_of(file, "steady", "counts_its_processes")
    ended = run_task(task, tmp_path, progress=lambda done, total, text: steps.append(text))
    steady, counts = ended.programs
    assert (steady.state, counts.state) == ("safe", "not repeatable")
    assert steady.against_itself == ""
    assert counts.against_itself.startswith("outputs: ")
    # Each step says that the task is at work, those of the second run, too.
    begun = steps.index("comparing the sides of steady")
    assert "jax-legacy: counts_its_processes" in steps[begun:]


def test_a_task_at_work_on_programs_that_run_again_says_so(tmp_path):
    steps, name = [], "counts_the_consts_of_a_jaxpr"
    task = task_of(program_file("differs_across_the_flip"), name, self_comparison=False)
    run_task(task, tmp_path, progress=lambda done, total, text: steps.append(text))
    begun = steps.index(f"comparing the sides of {name}")
    assert f"jax-simplified: {name}" in steps[begun:]


def test_a_full_disk_is_no_state_of_a_program(tmp_path, monkeypatch):
    monkeypatch.setenv("RUN_LOG", str(tmp_path / "log"))
    file = shutil.copy(program_file("logged_programs"), tmp_path / "logged.py")
    file.write_text(file.read_text() + FULL_DISK)
    task = task_of(file, "program_0", "program_1", "program_2", self_comparison=False)
    monkeypatch.setenv("FULL_FOR", "1.json")
    with pytest.raises(OSError, match="No space left on device"):
        run_task(task, tmp_path)
    built = (tmp_path / "log").read_text().split().count("0")

    monkeypatch.delenv("FULL_FOR")
    assert [each.state for each in run_task(task, tmp_path).programs] == ["safe"] * 3
    assert (tmp_path / "log").read_text().split().count("0") == built  # not again
