"""Clients of a cluster that stop: the next one goes on, and each program is in the store once."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from parity_tests.planned.cluster import ClusterRunner
from parity_tests.planned.going import go_on
from reports.store.errors import StoreError
from reports.store.plan_report import find_plan, plan_report
from reports.store.reading import load_run
from tests.helpers.clusters import let_go, tasks_here
from tests.helpers.quick_campaigns import left_of
from tests.helpers.waiting import await_

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
    names = [f"program {number}" for number in range(60)]

    def leave_no_room(tally):
        if tally.done == 0:
            [pages] = plan.connection.execute("PRAGMA page_count").fetchone()
            plan.connection.execute(f"PRAGMA max_page_count = {pages + 2}")

    with writer(names) as plan:
        runner = ClusterRunner(cluster.address, "test", patience=60.0)
        with pytest.raises(StoreError, match=r"runs\.db': the disk is full .*; make room; what was"):
            go_on(plan, tasks(names), runner, on_step=leave_no_room)
        assert not plan.finish()
    kept = plan_report(plan.path).states
    assert 0 < kept["safe"] < len(names)
    committed = [row.name for row in load_run(plan.path, "last").programs]
    assert len(committed) == kept["safe"]
    with writer(names) as plan:
        go_on(plan, left_of(plan), ClusterRunner(cluster.address, "test", patience=60.0))
        assert plan.finish()
    check_each_is_safe_once(plan.path, names, 30)
    assert [len(tasks_here(marks, name)) for name in committed] == [1] * len(committed)


@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGKILL])
def test_a_client_that_is_stopped_is_resumed_on_the_same_cluster(
    cluster, start, tmp_path, marks, sign
):
    workers = [cluster.start_worker() for _ in range(2)]
    stopped = start(NAMES)
    path = tmp_path / "runs.db"
    await_(lambda: tasks_here(marks, "waits") and plan_report(path).tasks == 2)
    stopped.send_signal(sign)
    assert stopped.wait() in (-sign, 1)
    assert plan_report(path).states == {"safe": 3, "not run": 2}
    resumed = start(NAMES)
    for each in workers:
        let_go(marks, each)
    assert resumed.wait() == 0
    check_each_is_safe_once(path, NAMES, 3)
    assert {len(tasks_here(marks, name)) for name in NAMES if name not in ("waits", "fourth")} == {1}


@pytest.mark.parametrize("sign", [signal.SIGKILL])
def test_a_task_of_a_client_that_is_gone_keeps_no_worker(cluster, start, tmp_path, marks, sign):
    cluster.start_worker()
    gone = start(["waits", "second"])
    await_(lambda: tasks_here(marks, "waits"))
    gone.send_signal(sign)
    gone.wait()
    other = start(["third"], "other")
    assert other.wait(timeout=30) == 0
    plan = find_plan(tmp_path / "runs.db", digest="other").id
    assert plan_report(tmp_path / "runs.db", plan).states == {"safe": 1}
