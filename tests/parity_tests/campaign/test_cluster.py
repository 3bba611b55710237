"""A cluster of separate processes: whatever is lost on it, each program is in the store once."""

import asyncio
import contextlib
import importlib
import logging
import os
import re
import signal
import socket
import time
from concurrent.futures import ThreadPoolExecutor

import psutil
import pytest

from parity_tests.campaign.cluster import ClusterError, ClusterRunner, connected
from parity_tests.campaign.scheduling import run_tasks
from reports.store.plan_report import plan_report
from reports.store.reading import load_run
from tests.helpers.clusters import let_go, tasks_here
from tests.helpers.waiting import await_

# Dask does not close the socket of a scheduler that goes, or comes, while it is greeted.
pytestmark = pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")
NAMES = ["waits", "second", "third", "fourth", "fifth"]


@pytest.fixture
def impatient(monkeypatch):
    """The scheduler gives a worker up after five silent seconds, the least that Dask waits."""
    monkeypatch.setenv("DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL", "500ms")


def run(cluster, plan, given, **changes):
    fields = {"patience": 60.0, **changes}
    return run_tasks(plan, given, ClusterRunner(cluster.address, "test", **fields))


@contextlib.contextmanager
def meanwhile(cluster, action):
    """Do something while the block runs; a failure ends the cluster, and with it the block."""

    def act():
        try:
            action()
        except BaseException:
            cluster.stop()
            raise

    with ThreadPoolExecutor() as threads:
        done = threads.submit(act)
        try:
            yield
        finally:
            done.result()


@pytest.fixture
def run_while(cluster, writer, tasks):
    """Run `NAMES` in three tasks while there is trouble, and check that each is there once."""

    def run_them(trouble, **changes):
        with writer(NAMES) as plan:
            with meanwhile(cluster, trouble):
                run(cluster, plan, tasks(NAMES, attempts=1), **changes)
            assert plan.finish()
        report = plan_report(plan.path)
        assert report.states == {"safe": 5}
        assert (report.tasks, report.tasks_lost) == (3, 0)
        assert [row.name for row in load_run(plan.path, "last").programs] == NAMES

    return run_them


def test_workers_are_killed_and_the_scheduler_restarts(cluster, writer, tasks, marks, caplog):
    names = ["slow 1", "slow 2", "dies", "once dies", "slow 3", "slow 4", "last", "slow 5"]
    cluster.start_worker()

    def trouble():
        # A worker goes with its task, and another one comes.
        [worker] = await_(lambda: tasks_here(marks, "slow 1"))
        cluster.start_worker()
        psutil.Process(worker).send_signal(signal.SIGKILL)
        # The scheduler goes, and with it the workers, and all of them come back.
        await_(lambda: tasks_here(marks, "slow 3"))
        cluster.scheduler.kill()
        cluster.scheduler.join()
        for each in cluster.workers:
            each.kill()
            each.join()
        cluster.start_scheduler()
        cluster.start_worker()
        cluster.start_worker()

    with writer(names) as plan:
        with meanwhile(cluster, trouble):
            run(cluster, plan, tasks(names, attempts=3))
        assert plan.finish()
    report = plan_report(plan.path)
    assert report.states == {"lost": 1, "safe": 7}
    [lost] = report.causes
    assert (lost.programs, lost.symptom) == (("dies",), "its process ended with signal SIGKILL")
    assert re.search(r"the scheduler \S+ is gone; \d tasks wait for it", caplog.text)


def test_a_machine_has_one_timed_task_after_the_scheduler_restarts(
    cluster, writer, tasks, marks, caplog
):
    """Two machines had one each. Both workers that come back first are of one machine."""
    names = ["waits 1", "second", "waits 2", "fourth"]
    for host in ("127.0.0.1", "127.0.0.2"):
        cluster.start_worker("--host", host)
    cluster.await_workers(2)

    def begun():
        return [len(tasks_here(marks, name)) for name in ("waits 1", "waits 2")]

    def trouble():
        await_(lambda: begun() == [1, 1])
        for each in (cluster.scheduler, *cluster.workers):
            each.kill()
            each.join()
        cluster.start_scheduler()
        await_(lambda: "has no workers; tasks wait" in caplog.text)
        back = [cluster.start_worker() for _ in range(2)]
        cluster.await_workers(2)
        await_(lambda: sum(begun()) > 2)
        time.sleep(1.0)  # for the other task to begin, which it must not
        assert sum(begun()) == 3
        for each in back:
            let_go(marks, each)

    with writer(names) as plan:
        with meanwhile(cluster, trouble):
            run(cluster, plan, tasks(names, attempts=1), alone=True)
        assert plan.finish()
    assert plan_report(plan.path).states == {"safe": 4}


@pytest.mark.parametrize(
    ("others", "said"), [(1, "1 worker left"), (0, "tasks wait for another one")]
)
def test_a_worker_that_is_killed_is_named(cluster, run_while, marks, caplog, others, said):
    worker = cluster.start_worker()
    cluster.await_workers(1)

    def trouble():
        await_(lambda: tasks_here(marks, "waits"))
        started = [cluster.start_worker() for _ in range(others)]
        cluster.await_workers(1 + others)
        worker.kill()
        await_(lambda: re.search(rf"worker tcp://\S+ is gone; {said}", caplog.text))
        for each in started or [cluster.start_worker()]:
            let_go(marks, each)

    run_while(trouble)


@pytest.mark.usefixtures("impatient")
def test_a_worker_that_hangs_leaves_its_task_to_another_and_may_come_back(
    cluster, run_while, marks
):
    worker = cluster.start_worker()

    def trouble():
        await_(lambda: tasks_here(marks, "waits"))
        os.kill(worker.pid, signal.SIGSTOP)
        let_go(marks, worker)  # its task ends while it hangs
        other = cluster.start_worker()
        await_(lambda: tasks_here(marks, "waits") == [worker.pid, other.pid])
        os.kill(worker.pid, signal.SIGCONT)
        worker.join()
        let_go(marks, other)

    run_while(trouble)


@pytest.mark.parametrize("alone", [False, True])
def test_a_worker_that_is_drained_leaves_its_task_to_another(cluster, run_while, marks, alone):
    worker = cluster.start_worker()
    cluster.await_workers(1)

    def trouble():
        await_(lambda: tasks_here(marks, "waits"))
        other = cluster.start_worker()
        cluster.await_workers(2)
        with connected(cluster.address) as client:
            client.retire_workers(names=["worker 0"])
        await_(lambda: tasks_here(marks, "waits") == [worker.pid, other.pid])
        let_go(marks, worker)
        worker.join()
        let_go(marks, other)

    run_while(trouble, alone=alone)


def test_a_worker_that_loses_its_connections_leaves_its_task_to_another(cluster, run_while, marks):
    worker = cluster.start_worker_behind_relays()

    def trouble():
        await_(lambda: tasks_here(marks, "waits"))
        for each in cluster.relays:
            each.cut()
        other = cluster.start_worker()
        await_(lambda: tasks_here(marks, "waits") == [worker.pid, other.pid])
        let_go(marks, worker)
        worker.join()
        let_go(marks, other)

    run_while(trouble)


@pytest.mark.usefixtures("impatient")
def test_a_result_that_the_network_holds_back_is_not_counted_twice(cluster, run_while, marks):
    worker = cluster.start_worker_behind_relays()

    def trouble():
        await_(lambda: tasks_here(marks, "waits"))
        for each in cluster.relays:
            each.be_silent()
        let_go(marks, worker)  # its result comes when another worker has the task
        other = cluster.start_worker()
        await_(lambda: tasks_here(marks, "waits") == [worker.pid, other.pid])
        for each in cluster.relays:
            each.speak()
        worker.join()
        let_go(marks, other)

    run_while(trouble)


def test_a_result_that_is_lost_with_its_worker_is_made_by_another(
    cluster, run_while, marks, monkeypatch
):
    monkeypatch.setattr("parity_tests.campaign.cluster._RESULT_SECONDS", 0.5)
    worker = cluster.start_worker_behind_relays()
    cluster.await_workers(1)

    def trouble():
        await_(lambda: tasks_here(marks, "waits"))
        there, back = cluster.relays
        back.be_silent()  # the worker says that the task has ended, and cannot be asked for more
        let_go(marks, worker)
        with connected(cluster.address) as client:
            await_(lambda: any(client.who_has().values()))
        there.cut()
        other = cluster.start_worker()
        await_(lambda: tasks_here(marks, "waits") == [worker.pid, other.pid])
        worker.join()
        let_go(marks, other)

    run_while(trouble, alone=True)


def test_a_worker_that_cannot_run_tasks_leaves_them_to_others(cluster, writer, tasks, marks):
    cluster.start_worker()
    cluster.start_worker()
    names = ["first", "once fills", "third"]
    with writer(names) as plan:
        run(cluster, plan, tasks(names, attempts=1))
    assert plan_report(plan.path).states == {"safe": 3}
    assert len(set(tasks_here(marks, "once fills"))) == 2


def test_a_scheduler_without_workers_is_named_and_waited_for(cluster, writer, tasks, caplog):
    names = ["first", "second"]

    def trouble():
        await_(lambda: "has no workers; tasks wait for the first" in caplog.text)
        cluster.start_worker()

    with writer(names) as plan:
        with meanwhile(cluster, trouble):
            run(cluster, plan, tasks(names))
        assert plan.finish()


def test_workers_that_come_later_have_tasks_at_once(cluster, writer, tasks, marks, monkeypatch):
    monkeypatch.setenv("QUICK_START_SECONDS", "60.0")
    names = ["follows second", "second"]

    def come():
        cluster.start_worker()
        await_(lambda: tasks_here(marks, "follows second"))
        cluster.start_worker()

    with writer(names) as plan, meanwhile(cluster, come):
        run(cluster, plan, tasks(names, task_size=1, attempts=1, timeout=1.0))
    assert plan_report(plan.path).states == {"safe": 2}


def test_a_worker_with_another_jax_runs_no_tasks(cluster, writer, tasks, marks):
    cluster.start_worker()
    others = [each.model_copy(update={"jax": "0.9.2"}).with_key() for each in tasks(["first"])]
    with (
        writer(["first"]) as plan,
        pytest.raises(ClusterError, match=r"its Python has jax .*, and the campaign was planned"),
    ):
        run(cluster, plan, others)
    assert plan_report(plan.path).states == {"not run": 1}
    assert tasks_here(marks, "first") == []


def test_what_dask_logs_of_a_scheduler_that_is_gone_is_kept_back(cluster, caplog):
    importlib.import_module("distributed")  # which sets the levels
    loggers = [logging.getLogger(each) for each in ("distributed", "distributed.client")]
    levels = [each.level for each in loggers]
    for each in loggers:
        each.addHandler(caplog.handler)
    try:
        with connected(cluster.address) as client:
            cluster.scheduler.kill()
            cluster.scheduler.join()
            await_(lambda: client.status == "connecting")
    finally:
        for each in loggers:
            each.removeHandler(caplog.handler)
    assert caplog.text == ""
    assert [each.level for each in loggers] == levels


@pytest.mark.parametrize(
    "address",
    ["", "foo", "foo:", "tcp://foo", "tcp://127.0.0.1:x", "http://127.0.0.1:8786", "tcp://:8786"],
)
def test_an_address_that_is_none_is_refused_with_one(address, capfd):
    with (
        pytest.raises(ClusterError, match=r"is no address of a scheduler; write one as tcp://node"),
        connected(address, 0.5),
    ):
        pass
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("address", ["127.0.0.1:1", "tls://127.0.0.1:1", "tcp://[::1]:1"])
def test_an_address_may_be_written_in_several_ways(address):
    with pytest.raises(ClusterError, match="no scheduler at"), connected(address, 0.5):
        pass


def test_a_cluster_may_be_asked_within_an_event_loop_as_in_a_notebook():
    async def cell():
        with pytest.raises(ClusterError, match="no scheduler at"), connected("127.0.0.1:1", 0.5):
            pass

    with ThreadPoolExecutor(1) as apart:  # this thread may have a loop, of the browser's tests
        apart.submit(lambda: asyncio.run(cell())).result()


def test_what_listens_and_says_nothing_is_not_waited_for():
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        pytest.raises(ClusterError, match=r"no scheduler at .* \(no answer\); start one"),
        connected(f"127.0.0.1:{server.getsockname()[1]}", 0.5),
    ):
        pass


def test_a_scheduler_that_is_not_there_is_named():
    with (
        pytest.raises(ClusterError, match=r"no scheduler at 'tcp://127\.0\.0\.1:1'.*check the"),
        connected("tcp://127.0.0.1:1", 0.5),
    ):
        pass
