"""Warm sides: workers that wait for the next program, so that one costs no start of JAX.

For searches that try many small programs one after the other, and for the arbiter, which a campaign
asks for a program now and then. The sides of a campaign get all its programs at once instead.
"""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from parity_tests.evidence.records import Evidence
from parity_tests.evidence.values import Value
from parity_tests.judge.verdict import Judgement, judge, needs_arbiter
from parity_tests.processes.protocol import NO_ARBITER, Job, Request
from parity_tests.processes.side_runs import (
    POLL_SECONDS,
    START_SECONDS,
    Recorded,
    Worker,
    record_of,
    truth_of,
)
from reports.rows import Failure, Observation, Side


@dataclass
class WarmWorker:
    """A worker of a side that does one job after the other; where it dies, the next has another.

    `timeout` is in seconds for one job, beside what a process takes to start.
    """

    side: Side
    folder: Path
    timeout: float
    action: Literal["serve", "serve truth"] = "serve"
    _worker: Worker | None = None
    _generation: int = 0

    def give(self, job: Job) -> None:
        """Have a job done; the one before must be done or lost."""
        if self._worker is None or self._worker.process.poll() is not None:
            self.kill()
            self._worker = self._start()
        self._worker.give(job.model_dump_json())

    def poll(self, job: Job) -> Path | Failure | None:
        """Return the folder with what is left of a job, how it was lost, or None: not done yet."""
        worker = self._worker
        assert worker is not None
        ended = worker.process.poll() is not None  # before reading, to miss no last words
        if job.number in worker.read_events():
            return worker.folder
        if ended:
            self.kill()
            return worker.failure("crash", worker.ending(), "the process ended")
        if worker.idle_seconds() > self.timeout + (0 if worker.has_started else START_SECONDS):
            self.kill()
            return worker.failure("timeout", "TimeLimit", f"no result in {self.timeout:g} seconds")
        return None

    def kill(self) -> None:
        """End the process."""
        if self._worker is not None:
            self._worker.kill()
            self._worker = None

    def _start(self) -> Worker:
        self._generation += 1
        name = f"{self.action.replace(' ', '-')}-{self.side}"
        while (folder := self.folder / f"{name}-{self._generation}").exists():
            self._generation += 1  # of a campaign that was interrupted
        folder.mkdir(parents=True)
        request = Request(
            action=self.action, folder=folder, sys_path=tuple(sys.path), side=self.side
        )
        return Worker.start(request, self.side)


@dataclass(frozen=True)
class Judged:
    """What became of a program on two sides: the judgement of a live run, and its evidence."""

    judgement: Judgement
    evidence: tuple[Evidence, Evidence]


@dataclass
class WarmPair:
    """Two sides that judge programs one after the other, as a campaign judges them."""

    sides: tuple[WarmWorker, WarmWorker]
    arbiter: WarmWorker
    _numbers: list[int] = field(default_factory=list)

    def judge(self, target: str) -> Judged:
        """Run a program on both sides at once, and judge it; the arbiter is asked where it may."""
        job = Job(number=len(self._numbers), name=target.rpartition(":")[2], target=target)
        self._numbers.append(job.number)
        left, right = (each.evidence() for each in self._run(job))
        judgement = judge([(left, right)], [left, right])
        if needs_arbiter(judgement):
            [folder] = _done([self.arbiter], job)
            truth = truth_of(folder, job.number) if isinstance(folder, Path) else ()
            if truth:
                judgement = judge([(left, right)], [left, right], truth)
        return Judged(judgement, (left, right))

    def _run(self, job: Job) -> list[Recorded]:
        return [
            Recorded(Observation(program=job.name, side=worker.side, failure=found))
            if isinstance(found, Failure)
            else record_of(found, job.number)
            for worker, found in zip(self.sides, _done(self.sides, job), strict=True)
        ]


def _done(workers: Sequence[WarmWorker], job: Job) -> list[Path | Failure]:
    """Have workers do one job at the same time, and wait for all."""
    found: list[Path | Failure | None] = [None] * len(workers)
    for worker in workers:
        worker.give(job)
    while True:
        for n, worker in enumerate(workers):
            if found[n] is None:
                found[n] = worker.poll(job)
        finished = [each for each in found if each is not None]
        if len(finished) == len(workers):
            return finished
        time.sleep(POLL_SECONDS)


@contextmanager
def warm_arbiter(
    folder: Path, *, timeout: float, fresh: bool = False
) -> Iterator[Callable[[Job], tuple[Value, ...] | str]]:
    """Hold an arbiter, which evaluates a program in double precision in a process of its own.

    It returns the outputs, or in words why there are none. `timeout` is in seconds for one program,
    beside what a process takes to start: loops run in Python here. With `fresh` each program has a
    process of its own. What was found stays in `folder`, for `truth_of` and for a campaign that is
    gone on with.

        with warm_arbiter(folder, timeout=60) as arbitrate:
            truth = arbitrate(job)
    """
    worker = WarmWorker("jax-legacy", folder, timeout + START_SECONDS, "serve truth")

    def arbitrate(job: Job) -> tuple[Value, ...] | str:
        if found := truth_of(folder, job.number):
            return found
        [answer] = _done([worker], job)
        if fresh:
            worker.kill()
        if isinstance(answer, Failure):
            if answer.kind == "timeout":
                return f"no result in {timeout:g} seconds"
            return answer.type
        kept = folder / f"arbiter-{job.number}"
        shutil.rmtree(kept, ignore_errors=True)  # of a campaign that was interrupted
        (answer / kept.name).replace(kept)
        reason = kept / NO_ARBITER
        return reason.read_text("utf-8") if reason.exists() else truth_of(folder, job.number)

    try:
        yield arbitrate
    finally:
        worker.kill()


@contextmanager
def warm_pair(left: Side, right: Side, folder: Path, *, timeout: float) -> Iterator[WarmPair]:
    """Hold two warm sides; their processes end with the block.

    `timeout` is in seconds for one program on one side.

        with warm_pair("jax-legacy", "jax-simplified", folder, timeout=30) as pair:
            pair.judge("my_model.py:step").judgement.verdict
    """
    with ExitStack() as stack:
        workers = [WarmWorker(side, folder, timeout) for side in (left, right)]
        arbiter = WarmWorker("jax-legacy", folder, timeout, "serve truth")
        for each in (*workers, arbiter):
            stack.callback(each.kill)
        yield WarmPair((workers[0], workers[1]), arbiter)
