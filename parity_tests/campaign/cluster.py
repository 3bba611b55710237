"""Tasks on a cluster of Dask: what a worker does, and a runner that outlives lost workers.

Dask schedules, retries what a lost worker had, and moves results; nothing here stands in its place.
A task crosses the network as text, as does its result. Where the scheduler itself goes away, the
tasks in hand are given to the one that comes back. What Dask logs of it is kept back.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import gc
import itertools
import json
import logging
import platform
import re
import subprocess
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import CancelledError, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from parity_tests.campaign.scheduling import Outcome
from parity_tests.campaign.task_process import POLL_SECONDS, run_here
from parity_tests.campaign.tasks import Task, TaskLost, TaskResult
from parity_tests.environments.making import environment_for
from parity_tests.evidence.temporary_folders import temporary_folder
from parity_tests.observe.environment import version
from reports.views.texts import counted

if TYPE_CHECKING:
    from distributed import Client, Future

log = logging.getLogger(__name__)
PATIENCE_SECONDS = 600.0
# "node-1:8786", "tls://10.0.0.7:8786", "tcp://[fe80::1]:8786".
_ADDRESS = re.compile(r"(?:(?P<protocol>\w+)://)?(?:\[[\w:.%]+\]|[^\s:/\[\]]+):\d{1,5}")
_AHEAD = 2  # tasks that the scheduler has for each thread of a worker, so that none waits
_AT_LEAST = 100  # and for workers that come while the first tasks run
_LOOK_SECONDS = 2.0  # between two looks at whether tasks wait for workers that are gone
_RESULT_SECONDS = 30.0  # for a worker to give the result of a task that has ended


class ClusterError(ValueError):
    """A cluster cannot be used; the message names the scheduler, why, and what to do."""


def run_on_worker(text: str) -> str:
    """Run a task, as JSON, on this worker, and return what it came to, as JSON.

    The environment of its programs is made here, once for all workers of a machine. What goes wrong
    is in the result, since Dask would give up a task that raises. Raises Dask's `Reschedule` alone,
    which ends the task, where nobody waits for it any more, as where its client was killed.
    """
    from distributed import get_worker

    task = Task.model_validate_json(text)
    try:
        if task.constparity != version():
            raise ValueError(f"it has constparity {version()}, and not {task.constparity}")
        if task.environment.jax:
            made = environment_for(task.environment.jax, task.environment.packages)
            task = task.model_copy(update={"python": made.python})
        _check_versions(task)
        with temporary_folder() as own:
            [(_, outcome)] = run_here(iter([task]), own, at_work=_look_for_client())
            return outcome.model_dump_json()
    except (OSError, ValueError) as error:
        address = get_worker().address
        why = f"worker {address} on {platform.node()} runs no tasks: {error}"
        return TaskLost(key=task.key, why=why, unfit_worker=address).model_dump_json()


def _look_for_client() -> Callable[[float, str], None]:
    """Return what raises Dask's `Reschedule` once nobody waits for the task of this thread.

    Dask ends no thread: a worker would be busy with the task of a client that was killed. Where
    the client comes back, Dask drops the result of this run, too, for it has counted another one.
    """
    from distributed import Reschedule, get_worker

    worker = get_worker()
    state = worker.state.tasks[worker.get_current_task()]
    run = state.run_id

    def look(programs: float, now: str) -> None:
        if state.state == "cancelled" or state.run_id != run:
            raise Reschedule

    return look


def _check_versions(task: Task) -> None:
    """Make sure that this machine has the JAX that a task was planned with, for its rows say so.

    Raises `ValueError`, and `OSError` where the interpreter cannot be started.
    """
    planned = (task.jax, task.jaxlib)
    if any(planned) and (found := _versions_of(task.python)) != planned:
        here, there = (f"jax {jax} with jaxlib {jaxlib}" for jax, jaxlib in (found, planned))
        raise ValueError(f"its Python has {here}, and the campaign was planned with {there}")


@functools.cache
def _versions_of(python: Path | None) -> tuple[str, str]:
    """Return the versions of JAX and jaxlib of an interpreter. Raises `OSError`."""
    command = [str(python or sys.executable), "-c", _LOOK]
    ran = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if ran.returncode:
        last = " ".join(ran.stderr.strip().splitlines()[-1:])
        raise OSError(f"{command[0]} cannot say its JAX: {last}")
    jax, jaxlib = ran.stdout.splitlines()[-1].split()
    return jax, jaxlib


# As `observe.environment` has them: a JAX of a source tree is not what was once installed.
_LOOK = """
from importlib.metadata import version
import jax

print(jax.__version__, version("jaxlib"))
"""


@dataclass
class ClusterRunner:
    """Runs tasks on the workers of a scheduler, and gives each as it ends.

    `campaign` is in the keys of the tasks, so that a task which is given twice is the same one.
    With `alone` each machine has one task at a time. Where the scheduler does not answer for
    `patience` seconds, raises `ClusterError`.
    """

    address: str
    campaign: str
    alone: bool = False
    patience: float = PATIENCE_SECONDS
    _unfit: dict[str, str] = field(default_factory=dict)  # why, by the address of the worker
    # Futures that only some workers may run, with the addresses of these workers, by key.
    _bound: dict[str, tuple[Future[Any], list[str]]] = field(default_factory=dict)
    _moved: Counter[str] = field(default_factory=Counter)  # how often, by the key of the task
    _there: set[str] = field(default_factory=set)  # the addresses of the workers at the last look

    def __call__(self, tasks: Iterator[Task]) -> Iterator[Outcome]:
        """Run tasks as they come."""
        in_hand: dict[str, Task] = {}
        while True:
            # Not all at once: before a worker is there, nothing keeps two of them off one machine.
            tasks = itertools.chain(list(in_hand.values()), tasks)
            in_hand.clear()
            with connected(self.address, self.patience) as client:
                try:
                    yield from self._run(client, tasks, in_hand)
                    return
                except _SchedulerGoneError:
                    count = len(in_hand)
                    log.warning("constparity: the scheduler %s is gone; %d tasks wait for it",
                                self.address, count)  # fmt: skip

    def _run(
        self, client: Client, tasks: Iterator[Task], in_hand: dict[str, Task]
    ) -> Iterator[Outcome]:
        from distributed import as_completed

        futures = as_completed(loop=client.loop)
        self._bound.clear()
        self._there.clear()  # workers that went with their scheduler are not said one by one
        self._fill(client, futures, tasks, in_hand)
        if in_hand and not self._fit(client):
            log.warning("constparity: the scheduler %s has no workers; tasks wait for the first",
                        self.address)  # fmt: skip
        for future in self._ended(client, futures, in_hand):
            key = str(future.key)
            task = in_hand[key]
            outcome = _outcome(task, future)
            if outcome is None:
                time.sleep(POLL_SECONDS)
                futures.add(future)
                continue
            self._bound.pop(key, None)
            future.release()
            if isinstance(outcome, TaskLost) and outcome.unfit_worker:
                self._unfit[outcome.unfit_worker] = outcome.why
                log.warning("constparity: %s; others run its task", outcome.why)
                futures.add(self._submit(client, task))
                continue
            del in_hand[key]
            yield task, outcome
            self._fill(client, futures, tasks, in_hand)

    def _ended(
        self, client: Client, futures: Any, in_hand: dict[str, Task]
    ) -> Iterator[Future[Any]]:
        """Give the futures of tasks in hand as they end; move those whose workers are gone."""
        looked = -_LOOK_SECONDS
        while not futures.is_empty():
            # Not while something is ready: it may say that the scheduler is another one.
            is_time = time.monotonic() > looked + _LOOK_SECONDS and not futures.has_ready()
            if is_time and client.status == "running":  # else there is nobody to ask
                self._say_gone(self._fit(client))
                self._move(client, futures, in_hand)
                looked = time.monotonic()
            if not futures.has_ready():
                time.sleep(POLL_SECONDS)
            elif (future := next(futures)).key in in_hand:  # one that was moved is not
                yield future

    def _say_gone(self, fit: Mapping[str, object]) -> None:
        """Warn of workers that went away since the last look, all of them in one line."""
        if gone := sorted(self._there - fit.keys() - self._unfit.keys()):
            which = f"worker {gone[0]} is" if len(gone) == 1 else f"{len(gone)} workers are"
            rest = f"{counted(len(fit), 'worker')} left" if fit else "tasks wait for another one"
            log.warning("constparity: %s gone; %s", which, rest)
        self._there = set(fit)

    def _move(self, client: Client, futures: Any, in_hand: dict[str, Task]) -> None:
        """Give a task to other workers when all that may run it are gone: Dask waits for these."""
        fit = self._fit(client) if self._bound else {}
        for key, (future, workers) in list(self._bound.items()):
            if fit and not future.done() and not fit.keys() & set(workers):
                del self._bound[key]
                task = in_hand.pop(key)
                # A new key: the scheduler has yet to say that the old one is cancelled.
                self._moved[task.key] += 1
                in_hand[self._key(task)] = task
                future.cancel()
                futures.add(self._submit(client, task))

    def _fill(
        self, client: Client, futures: Any, tasks: Iterator[Task], in_hand: dict[str, Task]
    ) -> None:
        """Give the scheduler as many tasks as keep its workers busy, and those that are to come."""
        while len(in_hand) < self._room(client) and (task := next(tasks, None)) is not None:
            in_hand[self._key(task)] = task
            futures.add(self._submit(client, task))

    def _room(self, client: Client) -> int:
        workers = self._fit(client)
        if self.alone:
            return max(1, len({each["host"] for each in workers.values()}))
        return max(_AT_LEAST, _AHEAD * sum(int(each["nthreads"]) for each in workers.values()))

    def _submit(self, client: Client, task: Task) -> Future[Any]:
        where: dict[str, Any] = {}
        fit = self._fit(client)
        if self._unfit and not fit:
            raise ClusterError(
                f"no worker of {self.address} is left: {[*self._unfit.values()][-1]}"
            )
        if self._unfit:
            where = {"workers": sorted(fit), "allow_other_workers": False}
        if self.alone and fit:
            first = {each["host"]: address for address, each in fit.items()}
            where = {"workers": sorted(first.values()), "allow_other_workers": False}
        key = self._key(task)
        future = client.submit(
            run_on_worker, task.model_dump_json(by_alias=True), key=key, pure=False, **where
        )
        if where:
            self._bound[key] = (future, where["workers"])
        return future

    def _fit(self, client: Client) -> dict[str, dict[str, Any]]:
        """Return the workers that run tasks, by their addresses."""
        found = dict(client.scheduler_info(n_workers=-1)["workers"])
        return {address: each for address, each in found.items() if address not in self._unfit}

    def _key(self, task: Task) -> str:
        moved = self._moved[task.key]
        return f"constparity-{self.campaign}-{task.key}" + (f"-{moved}" if moved else "")


class _SchedulerGoneError(Exception):
    """The scheduler went away, with the tasks that it had."""


def _outcome(task: Task, future: Future[Any]) -> TaskResult | TaskLost | None:
    """Return what a task came to; None where the worker that has its result does not answer.

    Dask runs the task again when it gives that worker up. Raises `_SchedulerGoneError`.
    """
    from distributed import KilledWorker

    if future.status == "cancelled":
        raise _SchedulerGoneError
    if future.status == "lost":
        return None
    try:
        text = future.result(timeout=_RESULT_SECONDS)
    except KilledWorker as killed:
        return TaskLost(key=task.key, why=f"its workers were lost: {killed}")
    except OSError:  # or its subclass TimeoutError; a scheduler that goes cancels the future
        return None
    except CancelledError as error:
        raise _SchedulerGoneError from error
    found = json.loads(text)
    return (TaskLost if "why" in found else TaskResult).model_validate(found)


@contextlib.contextmanager
def connected(address: str, patience: float = PATIENCE_SECONDS) -> Iterator[Client]:
    """Connect to a scheduler, waiting `patience` seconds for it at most.

    What Dask logs of a connection that is lost is kept back, for it is said here. Raises
    `ClusterError`.
    """
    try:
        from distributed import Client
        from distributed.comm.registry import backends
    except ModuleNotFoundError as missing:
        what = "a cluster needs dask.distributed: install constparity[cluster]"
        raise ClusterError(what) from missing
    # A client that cannot read its address fails in a thread, and says so in tracebacks.
    parts = _ADDRESS.fullmatch(address)
    if parts is None or (parts["protocol"] or "tcp") not in backends:
        raise ClusterError(
            f"{address!r} is no address of a scheduler; write one as tcp://node-1:8786"
        )
    with _quiet():
        # A client that found no scheduler closes when it is garbage. If that is while a thread of
        # the next one starts, the two wait for each other for ever. Dask leaves the socket of a
        # greeting that it gives up to be closed in the same way.
        with warnings.catch_warnings(action="ignore", category=ResourceWarning):
            gc.collect()
        try:
            with ThreadPoolExecutor(1) as apart:  # a notebook runs an event loop in its own thread
                apart.submit(lambda: asyncio.run(_greet(address, patience))).result()
            client = Client(address, timeout=patience, set_as_default=False)
        except (OSError, ValueError, TypeError) as error:  # the last, where TLS is not set up
            raise ClusterError(
                f"no scheduler at {address!r} ({str(error) or 'no answer'}); start one with "
                "`dask scheduler`, and check the address"
            ) from error
        try:
            yield client
        finally:
            client.close(timeout=2)


async def _greet(address: str, patience: float) -> None:
    """Raise `TimeoutError` for what listens and says nothing; a client waits for it for ever."""
    from distributed import Security
    from distributed.comm import connect

    security = Security().get_connection_args("client")
    async with asyncio.timeout(patience):
        comm = await connect(address, timeout=patience, **security)
    await comm.close()


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Keep Dask from logging in this process, where a scheduler that goes leaves tracebacks."""
    loggers = [logging.getLogger(each) for each in ("distributed", "distributed.client")]
    levels = [each.level for each in loggers]
    for each in loggers:
        each.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        for each, level in zip(loggers, levels, strict=True):
            each.setLevel(level)
