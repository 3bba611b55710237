"""Warm sides: processes that wait for the next program, so that one costs no start of JAX.

For searches that try many small programs one after the other, for the arbiter, which a campaign
asks for a program now and then, and for drift, where programs run again and again. The sides of a
campaign get all its programs at once instead.
"""

from __future__ import annotations

import math
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Generic, TypeVar

from parity_tests.evidence.folder_layout import ProgramFiles, new_waiting, truth_files
from parity_tests.evidence.records import Evidence, Recorded, record_of, truth_of
from parity_tests.evidence.values import Value
from parity_tests.judge.verdict import Judgement, judge, needs_arbiter
from parity_tests.processes import worker_process
from parity_tests.processes.kept_files import note_refusal
from parity_tests.processes.options import Limits
from parity_tests.processes.protocol import Job, Rerun, ServeJobs, ServeReruns, ServeTruth
from parity_tests.processes.side_runs import keep_measured
from parity_tests.processes.worker_process import Lost, Worker, supervise
from parity_tests.targets import split
from reports.rows import Observation, Side

JobT = TypeVar("JobT", Job, Rerun)


@dataclass
class WarmWorker:
    """A process of a side that does one job after the other; where it dies, the next has another.

    `limits` are for one job.
    """

    side: Side
    folder: Path
    limits: Limits
    request: ServeJobs | ServeReruns | ServeTruth
    _worker: Worker | None = None
    _module: str = ""

    def give(self, job: Job | Rerun) -> Worker:
        """Have a job done; the one before must be done or lost."""
        before, self._module = self._module, split(job.target)[0]
        if self._worker is None or self._worker.has_ended() or self._is_unfit(before):
            self.kill()
            self._worker = self._start()
        self._worker.give(job.model_dump_json())
        return self._worker

    def kill(self) -> None:
        """End the process."""
        if self._worker is not None:
            self._worker.kill()
            self._worker = None

    def _is_unfit(self, before: str) -> bool:
        worker = self._worker
        return worker is not None and (
            worker.is_spent or (worker.is_changed and before != self._module)
        )

    def _start(self) -> Worker:
        own = new_waiting(self.folder, self.request.kind, self.side)
        return Worker.start(self.request, own, self.side, python=self.limits.python)


@dataclass
class WarmJob(Generic[JobT]):
    """One job of a warm worker: `folder` is where its files are, unless it was `lost`.

    At the `deadline`, a time of `time.monotonic`, it is given up.
    """

    by: WarmWorker
    job: JobT
    deadline: float = math.inf
    lost: Lost | None = None
    finished: bool = False
    _worker: Worker | None = None

    @property
    def folder(self) -> Path:
        """The folder of the process that has done the job."""
        assert self._worker is not None
        return self._worker.files.folder

    def poll(self) -> None:
        """Give the job to the process, and see whether it is done."""
        if self._worker is None:
            self._worker = self.by.give(self.job)
        if self.job.number in self._worker.listen():
            self.finished = True
        elif lost := self._worker.lost(self.by.limits):
            self.lost, self.finished = lost, True
        elif time.monotonic() > self.deadline:
            self.kill()
            self.lost = self._worker.last("timeout", "no result before the deadline")
            self.finished = True

    def kill(self) -> None:
        """End the process."""
        self.by.kill()


def done_by(
    workers: Sequence[WarmWorker], job: JobT, deadline: float = math.inf
) -> list[WarmJob[JobT]]:
    """Have workers do one job at the same time, and wait for all."""
    jobs = [WarmJob(each, job, deadline) for each in workers]
    supervise(jobs, at_once=len(jobs))
    return jobs


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
        left, right = (_recorded(each).evidence() for each in done_by(self.sides, job))
        judgement = judge([(left, right)], [left, right])
        if needs_arbiter(judgement.comparisons):
            [done] = done_by([self.arbiter], job)
            truth = () if done.lost else truth_of(done.folder, job.number)
            if truth:
                judgement = judge([(left, right)], [left, right], truth)
        return Judged(judgement, (left, right))


def _recorded(done: WarmJob[Job]) -> Recorded:
    files = ProgramFiles(done.folder, done.job.number)
    if done.lost is None:
        return record_of(files)
    if files.measured.exists():
        return keep_measured(files, done.lost, hazards=False, first=True)
    return Recorded(
        Observation(program=done.job.name, side=done.by.side, failure=done.lost.failure())
    )


@dataclass(frozen=True)
class Truth:
    """The outputs of a program in double precision, or in `missing` why there are none."""

    outputs: tuple[Value, ...] = ()
    missing: str = ""


@contextmanager
def warm_arbiter(
    folder: Path, limits: Limits, *, fresh: bool = False
) -> Iterator[Callable[[Job], Truth]]:
    """Hold an arbiter, which evaluates programs in double precision in a process of its own.

    `limits` are for one program, which gets the time to start a process besides: loops run in
    Python here. With `fresh` each program has a process of its own. What was found stays in
    `folder`, for `truth_of` and for a campaign that goes on.

    Example::

        with warm_arbiter(folder, Limits(60)) as arbitrate:
            truth = arbitrate(job)
    """
    with_start = replace(limits, timeout=limits.timeout + worker_process.START_SECONDS)
    worker = WarmWorker("jax-legacy", folder, with_start, ServeTruth())

    def arbitrate(job: Job) -> Truth:
        try:
            return arbitrated(job)
        except OSError as error:  # the folder is full, or went away
            note_refusal(error)
            return Truth(missing=f"it could not be run ({error})")

    def arbitrated(job: Job) -> Truth:
        if found := truth_of(folder, job.number):
            return Truth(found)
        [done] = done_by([worker], job)
        if fresh:
            worker.kill()
        if done.lost is not None:
            return Truth(missing=_why_lost(done.lost, limits))
        kept = truth_files(folder, job.number)
        shutil.rmtree(kept.folder, ignore_errors=True)  # left by a campaign that was interrupted
        truth_files(done.folder, job.number).folder.replace(kept.folder)
        if kept.no_arbiter.exists():
            return Truth(missing=kept.no_arbiter.read_text("utf-8"))
        return Truth(truth_of(folder, job.number))

    try:
        yield arbitrate
    finally:
        worker.kill()


def _why_lost(lost: Lost, limits: Limits) -> str:
    return f"no result in {limits.timeout:g} seconds" if lost.kind == "timeout" else lost.ending


@contextmanager
def warm_pair(left: Side, right: Side, folder: Path, limits: Limits) -> Iterator[WarmPair]:
    """Hold two warm sides; their processes end with the block.

    `limits` are for one program on one side.

    Example::

        with warm_pair("jax-legacy", "jax-simplified", folder, Limits(30)) as pair:
            pair.judge("my_model.py:step").judgement.verdict
    """
    with ExitStack() as stack:
        workers = [WarmWorker(side, folder, limits, ServeJobs(side=side)) for side in (left, right)]
        arbiter = WarmWorker("jax-legacy", folder, limits, ServeTruth())
        for each in (*workers, arbiter):
            stack.callback(each.kill)
        yield WarmPair((workers[0], workers[1]), arbiter)
