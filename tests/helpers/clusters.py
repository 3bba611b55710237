"""A cluster of Dask on this machine: a scheduler and workers, each a process."""

import importlib
import multiprocessing
import os
import sys
from pathlib import Path

import dask

from parity_tests.campaign.cluster import connected
from tests.helpers.relays import Relay, free_port

ROOT = Path(__file__).parents[2]
# All are forked from a process that has imported Dask, for that takes longer than their work.
FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload(
    [
        "distributed.cli.dask_scheduler",
        "distributed.cli.dask_worker",
        "parity_tests.campaign.cluster",
    ]
)


class Cluster:
    """A scheduler and workers, each a process."""

    def __init__(self, folder):
        self.port = free_port()
        self.address = f"tcp://127.0.0.1:{self.port}"
        self.folder = folder
        self.started = []
        self.workers = []
        self.relays = []
        self.scheduler = None

    def start_scheduler(self):
        self.scheduler = self._start("scheduler", "--host", "127.0.0.1", "--port", str(self.port))

    def start_worker(self, *arguments, scheduler=None, is_quick=True):
        """Start a worker with one thread; tasks are those of `quick_tasks`, or real ones."""
        loaded = ["--preload", "tests.helpers.quick_workers"] if is_quick else []
        self.workers.append(
            self._start(
                "worker", scheduler or self.address, "--nthreads", "1", "--no-nanny",
                "--name", f"worker {len(self.workers)}", *loaded, *arguments,
            )
        )  # fmt: skip
        return self.workers[-1]

    def start_worker_behind_relays(self):
        """Start a worker; all that it and the scheduler say to each other passes the relays."""
        with connected(self.address, 60.0):
            pass  # the scheduler is there; a relay would not wait for it
        port = free_port()
        there, back = self.relays = [Relay(self.port), Relay(port)]
        return self.start_worker(
            "--listen-address", f"tcp://127.0.0.1:{port}", "--contact-address", back.address,
            scheduler=there.address,
        )  # fmt: skip

    def await_workers(self, count):
        with connected(self.address, 60.0) as client:
            client.wait_for_workers(count)

    def _start(self, kind, *arguments):
        log = self.folder / f"{kind}-{len(self.started)}.log"
        how = (kind, ["--no-dashboard", *arguments], log, dict(os.environ))
        process = FORKS.Process(target=_run, args=how, daemon=True)
        process.start()
        self.started.append(process)
        return process

    def stop(self):
        for each in reversed(self.started):
            each.kill()
            each.join()
        for each in self.relays:
            each.cut()


def _run(kind, arguments, log, environment):
    """Be a command of Dask in an environment; what it prints goes to `log`."""
    with open(log, "w") as file:
        for stream in (sys.stdout, sys.stderr):
            os.dup2(file.fileno(), stream.fileno())
    os.chdir(ROOT)
    os.environ.clear()
    os.environ.update(environment)
    dask.config.refresh()
    importlib.import_module(f"distributed.cli.dask_{kind}").main(arguments)


def tasks_here(marks, name):
    """Return the workers that began a program, in order."""
    file = marks / name
    return [int(line) for line in file.read_text().split()] if file.exists() else []


def let_go(marks, worker):
    """End the programs of a worker that wait."""
    (marks / f"go {worker.pid}").touch()
