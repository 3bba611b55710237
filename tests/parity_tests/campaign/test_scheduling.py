"""Whatever happens to tasks, each program is in the store once, in one state."""

import os
import sqlite3
from functools import partial
from pathlib import Path

import pytest

from parity_tests.campaign import task_process
from parity_tests.campaign.scheduling import programs_of, run_tasks
from parity_tests.campaign.spec import CampaignSpec
from parity_tests.campaign.task_process import processors_of, run_here
from parity_tests.campaign.tasks import Task
from reports.store.database import StoreError
from reports.store.plan_report import plan_report
from tests.helpers.quick_tasks import result

pytestmark = pytest.mark.usefixtures("marks")


def states(path):
    """Return the programs of each state, and make sure that each has one row and no more."""
    connection = sqlite3.connect(path)
    found = connection.execute("SELECT name, state FROM planned").fetchall()
    rows = connection.execute("SELECT place, count(*) FROM rows GROUP BY place").fetchall()
    connection.close()
    assert all(count == 1 for _, count in rows)
    assert len(rows) == sum(state not in ("lost", "not run") for _, state in found)
    return dict(found)


def runner(tmp_path, jobs=2):
    return partial(run_here, folder=tmp_path / "work", jobs=jobs)


def test_a_program_that_takes_its_task_along_is_lost_alone(writer, tasks, tmp_path, marks):
    names = ["first", "dies", "third", "once dies", "fifth"]
    with writer(names) as plan:
        tally = run_tasks(plan, tasks(names, attempts=2), runner(tmp_path))
        assert plan.finish()
    assert states(plan.path) == {**dict.fromkeys(names, "safe"), "dies": "lost"}
    assert tally.done == 5
    assert len((marks / "dies").read_text().splitlines()) == 2  # in a task of two, then alone
    report = plan_report(plan.path)
    assert (report.states, report.planned) == ({"lost": 1, "safe": 4}, 5)
    assert report.causes[0].symptom == "its process ended with signal SIGKILL"


def test_a_task_that_hangs_is_given_up(writer, tasks, tmp_path, monkeypatch):
    monkeypatch.setattr(task_process, "START_SECONDS", 0.4)
    names = ["hangs", "second"]
    with writer(names) as plan:
        run_tasks(plan, tasks(names, attempts=2, timeout=0.3), runner(tmp_path))
    assert states(plan.path) == {"hangs": "lost", "second": "safe"}
    assert "no step of it ended" in plan_report(plan.path).causes[0].symptom


def test_a_task_that_runs_out_of_memory_is_given_up(writer, tasks, tmp_path):
    names = ["first", "grows", "third"]
    with writer(names) as plan:
        run_tasks(plan, tasks(names, attempts=2), runner(tmp_path))
    assert states(plan.path) == {"first": "safe", "grows": "lost", "third": "safe"}
    assert plan_report(plan.path).causes[0].symptom.endswith("exit status 1: MemoryError")


def test_a_full_disk_stops_the_campaign_and_is_nobodys_failure(writer, tasks, tmp_path):
    names = ["first", "second", "once fills", "fourth"]
    with writer(names) as plan:
        full = r"/\w{20}' takes no more files \(No space left on device\)"
        with pytest.raises(task_process.FolderError, match=full):
            run_tasks(plan, tasks(names), runner(tmp_path, jobs=1))
        assert not plan.finish()
        assert states(plan.path)["once fills"] == "not run"
        left = Task(campaign=CampaignSpec(task_size=2)).cut(programs_of(plan.pending()))
        assert [each.name for task in left for each in task.programs] == names[2:]
        run_tasks(plan, left, runner(tmp_path, jobs=1))
    assert states(plan.path) == dict.fromkeys(names, "safe")


def test_a_store_that_was_full_takes_what_its_tasks_come_to_when_there_is_room(
    writer, tasks, tmp_path, monkeypatch
):
    names = ["first", "second"]

    def full(*args, **kwargs):
        raise StoreError("the disk is full")

    with writer(names) as plan:
        with monkeypatch.context() as patched:
            patched.setattr(type(plan), "commit", full)
            with pytest.raises(StoreError):
                run_tasks(plan, tasks(names), runner(tmp_path))
        run_tasks(plan, tasks(names), runner(tmp_path))
    assert states(plan.path) == dict.fromkeys(names, "safe")


def test_a_result_that_comes_twice_is_written_once(writer, tasks):
    names = ["first", "second"]

    def twice(waiting):
        for task in waiting:
            yield task, result(task, machine="node 1")
            yield task, result(task, machine="node 2")

    with writer(names) as plan:
        run_tasks(plan, tasks(names), twice)
    assert states(plan.path) == dict.fromkeys(names, "safe")
    assert plan_report(plan.path).environments[0].machines == {"node 1": 2}


def test_a_disk_that_is_full_before_a_task_starts_is_nobodys_failure(writer, tasks, tmp_path):
    (tmp_path / "work").touch()  # where no folder can be made
    with writer(["first"]) as plan:
        with pytest.raises(task_process.FolderError, match="takes no more files"):
            run_tasks(plan, tasks(["first"]), runner(tmp_path))
        (tmp_path / "work").unlink()
        run_tasks(plan, tasks(["first"]), runner(tmp_path))
    assert states(plan.path) == {"first": "safe"}
    assert plan_report(plan.path).tasks_lost == 0


def test_processes_end_with_the_campaign(writer, tasks, tmp_path, monkeypatch):
    started = []
    start = task_process.TaskProcess.start

    def keeping(*args):
        started.append(start(*args))
        return started[-1]

    monkeypatch.setattr(task_process.TaskProcess, "start", keeping)
    running = runner(tmp_path)(iter(tasks(["first", "second", "hangs", "hangs too"])))
    next(running)
    running.close()
    assert [each.process.poll() is not None for each in started] == [True, True]


def test_programs_of_tasks_at_work_are_told_while_they_run(writer, tasks, tmp_path, monkeypatch):
    monkeypatch.setattr(task_process, "_SAY_SECONDS", 0.0)
    told, steps = [], []
    names = ["slow 1", "slow 2"]
    with writer(names) as plan:
        running = partial(
            run_here, folder=tmp_path / "work", at_work=lambda programs, now: told.append(programs)
        )
        run_tasks(plan, tasks(names), running, on_step=lambda tally: steps.append(tally.done))
    assert steps == [0, 2]
    assert sorted(set(told)) == [0.0, 1.0]


def test_a_task_of_another_directory_finds_its_folder_and_our_packages(
    writer, tasks, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "elsewhere").mkdir()
    for name in ("parity_tests", "reports", "psutil"):
        (tmp_path / "elsewhere" / f"{name}.py").write_text("raise SystemExit('of the user')\n")
    [task] = tasks(["first"])
    moved = task.model_copy(update={"working_directory": str(tmp_path / "elsewhere")})
    with writer(["first"]) as plan:
        run_tasks(plan, [moved], runner(Path()))
    assert states(plan.path) == {"first": "safe"}


@pytest.mark.parametrize(
    ("jobs", "available", "shares"),
    [
        (2, [0, 1, 2, 3], [[0, 1], [2, 3]]),
        (3, [0, 1], [[0], [1], [0]]),
        (1, [], [[]]),
    ],
)
def test_each_job_has_processors_of_its_own_as_far_as_there_are(jobs, available, shares):
    assert [processors_of(slot, jobs, available) for slot in range(jobs)] == shares


@pytest.mark.skipif(
    not hasattr(os, "sched_getaffinity") or len(os.sched_getaffinity(0)) < 2,
    reason="needs Linux and two processors",
)
def test_the_process_of_a_task_is_pinned_to_the_processors_of_its_job(tasks, tmp_path, monkeypatch):
    pinned = []
    start = task_process.TaskProcess.start

    def looking(*args):
        started = start(*args)
        pinned.append(os.sched_getaffinity(started.process.pid))
        return started

    monkeypatch.setattr(task_process.TaskProcess, "start", looking)
    list(runner(tmp_path)(iter(tasks(["first", "second", "third"]))))
    assert pinned == [set(processors_of(0, 2)), set(processors_of(1, 2))]
    assert pinned[0].isdisjoint(pinned[1])
