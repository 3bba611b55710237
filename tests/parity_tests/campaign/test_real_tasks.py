"""Tasks with real programs and processes: what differs from itself, and a disk that is full."""

import shutil
from contextlib import contextmanager
from types import SimpleNamespace

import pytest
from full_disk import FULL_DISK
from program_files import program_file

from parity_tests.campaign import running
from parity_tests.campaign.plan import PlannedProgram
from parity_tests.campaign.running import Beats, run_task
from parity_tests.campaign.spec import CampaignSpec
from parity_tests.campaign.task_process import TaskProcess
from parity_tests.campaign.tasks import Task
from parity_tests.evidence.folder_layout import CampaignFiles, side_folder
from parity_tests.processes.signs_of_life import signs_told

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
NAMES_ITS_SIDE = """
import os
from pathlib import Path

from parity_tests import program


@program
def names_its_side():
    with open(Path(os.environ["RUNS"], "sides_in_turn"), "a") as sides:
        sides.write(os.environ["JAX_USE_SIMPLIFIED_JAXPR_CONSTANTS"])
    return (lambda x: x + 1), (1.0,)
"""


def task_of(file, *names, **given):
    programs = [
        PlannedProgram(
            place=place, environment="here", corpus="models", name=name, target=f"{file}:{name}"
        )
        for place, name in enumerate(names)
    ]
    spec = CampaignSpec(sides=SIDES, attribute=False, **given)
    [task] = Task(campaign=spec, working_directory=str(file.parent)).cut(programs)
    return task


@contextmanager
def counted_while_there(folder):
    """Count the signs of life while a folder is there."""
    signs = []
    with signs_told(lambda: folder.exists() and signs.append(1)):
        yield signs


def test_what_differs_from_itself_is_set_apart_by_name(tmp_path, monkeypatch):
    monkeypatch.setenv("RUNS", str(tmp_path))
    file = tmp_path / "counted.py"
    file.write_text(COUNTED)
    with counted_while_there(tmp_path / "again") as signs:
        ended = run_task(task_of(file, "steady", "counts_its_processes"), tmp_path)
    steady, counts = ended.programs
    assert (steady.state, counts.state) == ("safe", "not repeatable")
    assert steady.against_itself == ""
    assert counts.against_itself.startswith("outputs: ")
    assert len(signs) > 1  # of the process of the second run: its start is one


def test_programs_are_compared_with_themselves_before_another_side_runs(tmp_path, monkeypatch):
    monkeypatch.setenv("RUNS", str(tmp_path))
    file = tmp_path / "counted.py"
    file.write_text(NAMES_ITS_SIDE)
    steps = []
    task = task_of(file, "names_its_side")
    [ran] = run_task(
        task, tmp_path, progress=lambda done, total, text: steps.append((done, total))
    ).programs
    assert (ran.state, ran.against_itself) == ("safe", "")
    assert (tmp_path / "sides_in_turn").read_text().startswith("001")
    processes = side_folder(tmp_path / "sides", SIDES[0])
    assert len(list(processes.iterdir())) == 1  # the campaign has the first of both runs
    assert steps[0] == (1, len(SIDES))  # and its progress begins with that


def test_a_task_at_work_on_programs_that_run_again_gives_signs_of_life(tmp_path):
    task = task_of(
        program_file("differs_across_the_flip"), "counts_the_consts_of_a_jaxpr",
        self_comparison=False,
    )  # fmt: skip
    with counted_while_there(CampaignFiles(tmp_path / "sides").again) as signs:
        run_task(task, tmp_path)
    assert len(signs) > len(SIDES)


def test_beats_are_few_and_say_how_far_a_task_is(tmp_path, monkeypatch):
    beats, now = Beats(tmp_path / "beat"), [100.0]
    monkeypatch.setattr(running.time, "monotonic", lambda: now[0])
    beats.step(1, 4, "jax-legacy: größer: compile")
    beats.step(2, 4, "judging größer")
    assert beats.file.read_text("utf-8") == "1 4 jax-legacy: größer: compile"
    task = TaskProcess(None, SimpleNamespace(beat=beats.file), None)
    assert (task.share(), task.now) == (0.25, "jax-legacy: größer: compile")
    now[0] += 1.0
    beats.write()
    assert beats.file.read_text("utf-8") == "2 4 judging größer"
    assert (task.share(), task.now) == (0.5, "judging größer")
    beats.file.write_text("")  # it is written at this moment
    assert (task.share(), task.now) == (0.5, "judging größer")


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
    ended = run_task(task, tmp_path)
    assert [each.state for each in ended.programs] == ["safe"] * 3
    run = (tmp_path / "log").read_text()
    assert run.split().count("0") == built  # not again

    # Where the store was full, or the campaign was killed before it took what the task came to.
    assert [each.state for each in run_task(task, tmp_path).programs] == ["safe"] * 3
    assert (tmp_path / "log").read_text() == run
