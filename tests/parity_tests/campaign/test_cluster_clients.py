"""Clients of a cluster that stop: the next one goes on, and each program is in the store once."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from parity_tests.campaign.cluster import ClusterRunner, connected
from parity_tests.campaign.scheduling import run_tasks
from parity_tests.cli import app
from reports.store.database import StoreError
from reports.store.plan_report import find_plan, plan_report, planned_names
from reports.store.reading import load_run
from tests.helpers.clusters import let_go, tasks_here
from tests.helpers.quick_campaigns import left_of
from tests.helpers.waiting import await_

pytestmark = pytest.mark.deep

PROGRAMS = """
import os

import jax.numpy as jnp
import numpy as np

from parity_tests.program import program


@program
def on_the_worker_alone():
    table = np.full(100, float(os.environ["PLANTED_ON_WORKERS"]), np.float32)
    return (lambda x: x * jnp.asarray(table)), (jnp.float32(2.0),)


@program
def raises():
    def fun(x):
        raise ValueError("planted")

    return fun, (jnp.ones(3),)
"""
SPEC = """
[campaign]
name = "small"
sides = ["jax-legacy", "jax-simplified"]
self_comparison = false
attribute = false

[[corpus]]
name = "programs"
targets = ["programs.py"]
"""
ROOT = Path(__file__).parents[3]
NAMES = ["first", "second", "waits", "fourth", "fifth"]


@pytest.fixture
def start(cluster, tmp_path):
    """Start the process of a client on a campaign in `runs.db`."""
    started = []

    def start_one(names, digest="d"):
        client = [sys.executable, "-m", "tests.helpers.quick_campaigns", tmp_path / "runs.db"]
        started.append(subprocess.Popen([*client, digest, cluster.address, *names], cwd=ROOT))
        return started[-1]

    yield start_one
    for each in started:
        each.kill()
        each.wait()


def check_each_is_safe_once(path, names, tasks):
    report = plan_report(path)
    assert report.states == {"safe": len(names)}
    assert (report.tasks, report.tasks_lost, bool(report.finished)) == (tasks, 0, True)
    assert [row.name for row in load_run(path, "last").programs] == names


def test_a_store_whose_disk_is_full_goes_on_when_there_is_room(cluster, writer, tasks, marks):
    cluster.start_worker()
    cluster.start_worker()
    names = [f"program {number}" for number in range(30)]

    def leave_no_room(tally):
        if tally.done == 0:
            [pages] = plan.connection.execute("PRAGMA page_count").fetchone()
            plan.connection.execute(f"PRAGMA max_page_count = {pages + 1}")

    with writer(names) as plan:
        runner = ClusterRunner(cluster.address, "test", patience=60.0)
        with pytest.raises(StoreError, match=r"runs\.db': the disk is full .*; make room"):
            run_tasks(plan, tasks(names), runner, on_step=leave_no_room)
        assert not plan.finish()
    kept = [name for name, _ in planned_names(plan.path, plan.plan, ["safe"])]
    assert 0 < len(kept) < len(names)
    with writer(names) as plan:
        run_tasks(plan, left_of(plan), ClusterRunner(cluster.address, "test", patience=60.0))
        assert plan.finish()
    check_each_is_safe_once(plan.path, names, 15)
    assert [len(tasks_here(marks, name)) for name in kept] == [1] * len(kept)


@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize(
    ("sign", "hears_late"),
    [(signal.SIGINT, False), (signal.SIGKILL, False), (signal.SIGKILL, True)],
)
def test_a_client_that_is_stopped_is_resumed_on_the_same_cluster(
    cluster, start, tmp_path, marks, sign, hears_late
):
    """The worker ends the task that it had, also where it hears of both clients at once."""
    worker = cluster.start_worker()
    cluster.await_workers(1)
    stopped = start(NAMES)
    path = tmp_path / "runs.db"
    await_(lambda: tasks_here(marks, "waits") and plan_report(path).tasks)
    if hears_late:
        os.kill(worker.pid, signal.SIGSTOP)
    stopped.send_signal(sign)
    stopped.wait()
    kept = [name for name, _ in planned_names(path, 1, ["safe"])]
    with connected(cluster.address) as client:
        await_(lambda: not any(client.processing().values()))
        resumed = start(NAMES)
        await_(lambda: any(client.processing().values()))
    os.kill(worker.pid, signal.SIGCONT)
    await_(lambda: len(tasks_here(marks, "waits")) == 2)
    let_go(marks, worker)
    assert resumed.wait() == 0
    check_each_is_safe_once(path, NAMES, 3)
    assert len(tasks_here(marks, "waits")) == 2
    assert [len(tasks_here(marks, name)) for name in kept] == [1] * len(kept)


def test_a_task_of_a_client_that_is_gone_keeps_no_worker(cluster, start, tmp_path, marks):
    cluster.start_worker()
    gone = start(["waits", "second"])
    await_(lambda: tasks_here(marks, "waits"))
    gone.kill()
    gone.wait()
    assert start(["third"], "other").wait() == 0
    path = tmp_path / "runs.db"
    assert plan_report(path, find_plan(path, digest="other").id).states == {"safe": 1}


def test_the_command_runs_programs_on_the_workers_of_a_scheduler(
    cluster, tmp_path, monkeypatch, capsys
):
    with monkeypatch.context() as of_worker:
        of_worker.setenv("PLANTED_ON_WORKERS", "1.0")
        cluster.start_worker(is_quick=False)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "programs.py").write_text(PROGRAMS)
    (tmp_path / "small.toml").write_text(SPEC)
    arguments = ["campaign", "small.toml", "--scheduler", cluster.address, "--report", "md:all.md"]
    assert app.main(arguments) == 2
    assert "2 programs: 1 could not be compared" in capsys.readouterr().out
    report = plan_report(tmp_path / "small.db")
    assert report.states == {"could not compare": 1, "safe": 1}
    assert [each.programs for each in report.causes] == [("raises",)]
    assert (report.tasks, report.tasks_lost, bool(report.finished)) == (1, 0, True)
    assert "1 could not be compared" in (tmp_path / "all.md").read_text()
    assert not (tmp_path / "small.db.work").exists()
