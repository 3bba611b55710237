"""Run programs on sides, each side in processes of its own; crashes and time limits are data.

A side needs its own process because stock JAX latches its flag at import, and because a program
that crashes must not take the campaign with it.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from parity_tests.evidence.folder_layout import (
    ProgramFiles,
    finished_programs,
    next_free,
    side_folder,
)
from parity_tests.evidence.found import HazardsFound
from parity_tests.evidence.records import Recorded, log, record_of
from parity_tests.processes import early_starts
from parity_tests.processes.kept_files import finish, finished_before, note_refusal, why_not_kept
from parity_tests.processes.options import RunOptions
from parity_tests.processes.protocol import Job, Measuring, Progress, RunJobs, to_json, write
from parity_tests.processes.worker_process import KILLED, PROCESSES, Lost, Worker, supervise
from reports.rows import CallAsWritten, Check, Observation, Side
from reports.rows.check_names import AS_WRITTEN, FLIPS

LONG_SECONDS = 5.0  # a stage that takes longer is told while it lasts


def run_sides(
    jobs: Sequence[Job],
    sides: Sequence[Side],
    folder: Path,
    options: RunOptions,
    *,
    progress: Progress = lambda done, total, text: None,
    stops_after: Callable[[int, Mapping[Side, Recorded]], bool] = lambda number, records: False,
) -> dict[tuple[int, Side], Recorded]:
    """Run every job on every side, and return one record for each job's number and side.

    A program whose process crashes has failed, as has one that exceeds a limit. Where other
    programs had run in that process, it runs once more, as the first of another. What `folder` has
    from a campaign that was interrupted is not run again, unless it is damaged. Where it takes no
    more results, a warning says so, and jobs that were not finished have no record. Processes are
    killed when this returns or raises, KeyboardInterrupt included.

    `stops_after` is asked when a program has run on all sides, with its number and its records.
    Where it says yes, the programs that are not done on all sides are left out from then on.

    Example::

        run_sides(jobs, ("legacy", "simplified"), folder, RunOptions(timeout=60))
    """
    recorded = {
        (number, side): record
        for side in sides
        for number, record in _finished_before(jobs, side, side_folder(folder, side)).items()
    }
    total = len(jobs) * len(sides)
    if recorded:
        progress(len(recorded), total, "finished before")
    runs: list[SideRun] = []

    def stop_if_asked(number: int) -> None:
        records = {side: recorded[number, side] for side in sides if (number, side) in recorded}
        if len(records) == len(sides) and stops_after(number, records):
            for each in runs:
                each.stop()

    def show(text: str) -> None:
        progress(len(recorded), total, text)

    def keep(number: int, record: Recorded) -> None:
        observation = record.observation
        recorded[number, observation.side] = record
        show(f"{observation.side}: {observation.program}")
        stop_if_asked(number)

    for side in sides:
        left = [job for job in jobs if (job.number, side) not in recorded]
        runs += [
            SideRun(side, part, side_folder(folder, side), options, keep, on_long=show)
            for part in _parts(left, len(sides), options.processes)
        ]
    for number in sorted({number for number, _ in recorded}):
        stop_if_asked(number)
    early_starts.wait_until_ready()
    supervise(runs, at_once=options.processes or PROCESSES)
    return recorded


def run_turns(
    jobs: Sequence[Job],
    side: Side,
    folders: Sequence[Path],
    options: RunOptions,
    *,
    progress: Progress = lambda done, total, text: None,
) -> list[dict[int, Recorded]]:
    """Run every job on one side once for each folder, and return the records by number for each.

    Two folders are at work at a time. What a folder has is not run again.

    Example::

        run_turns(jobs, "jax-legacy", [folder / "0", folder / "1"], RunOptions(fresh=True))
    """
    turns = [_finished_before(jobs, side, side_folder(each, side)) for each in folders]

    def show(text: str) -> None:
        progress(sum(map(len, turns)), len(jobs) * len(turns), text)

    def keep(turn: dict[int, Recorded], number: int, record: Recorded) -> None:
        turn[number] = record
        show(f"{side}: {record.observation.program}")

    supervise(
        [
            SideRun(
                side,
                tuple(job for job in jobs if job.number not in turn),
                side_folder(folder, side),
                options,
                on_record=partial(keep, turn),
                on_long=show,
            )
            for turn, folder in zip(turns, folders, strict=True)
        ]
    )
    return turns


def _parts(jobs: Sequence[Job], sides: int, processes: int | None) -> list[tuple[Job, ...]]:
    """Divide the jobs of a side among its processes; all in one unless there are more than sides.

    They are dealt like cards, so that the first programs are the first that are done.
    """
    several = max(1, (processes or 1) // sides)
    return [tuple(jobs[start::several]) for start in range(min(several, len(jobs)))]


def _finished_before(jobs: Sequence[Job], side: Side, folder: Path) -> dict[int, Recorded]:
    """Read what a folder has of jobs, by number, and drop what is damaged."""
    by_number = {job.number: job for job in jobs}
    return {
        files.number: record
        for files in finished_programs(folder)
        if files.number in by_number
        and (record := finished_before(files, by_number[files.number], side))
    }


@dataclass
class SideRun:
    """The jobs of one side, and the process that is on them; a dead process is replaced."""

    side: Side
    jobs: tuple[Job, ...]
    folder: Path
    options: RunOptions
    on_record: Callable[[int, Recorded], object]
    # Told the program and the stage that have taken `LONG_SECONDS`.
    on_long: Callable[[str], object] = lambda text: None
    _worker: Worker | None = None
    _stage: tuple[int, str] = (-1, "")
    _stage_begun: float = 0.0
    _given: tuple[Job, ...] = ()  # to the process, which is let go of when it has done them
    _numbers_given: frozenset[int] = frozenset()

    @property
    def finished(self) -> bool:
        """Whether every job has its record."""
        return not self.jobs and self._worker is None

    def poll(self) -> None:
        """Record finished programs, and replace the process if it was lost.

        Where the folder takes no more results, this ends, and a warning says so.
        """
        try:
            self._go_on()
        except OSError as error:
            self.kill()
            self.jobs = ()
            note_refusal(error)
            log.warning(
                "constparity: no more programs are run on %s, for %s takes no more results (%s)",
                self.side, self.folder, error,
            )  # fmt: skip

    def _go_on(self) -> None:
        if self._worker is None:
            if not self.jobs:
                return
            self._worker = self._start()
        done = self._worker.listen()
        if done:
            self._take(done)
        if self.jobs:
            self._tell_of_stage(self.jobs[0], self._worker.stage)
        # Every poll comes by here, and there may be thousands of jobs: only the first is looked at.
        if not any(job.number in self._numbers_given for job in self.jobs):
            self.kill()  # it may not end by itself, for a thread of a program does not
        elif done and self._worker.is_spent:
            self.kill()  # a program has changed it, and the next one is to run in a new process
        elif lost := self._worker.lost(self.options.limits):
            self._give_up(self._worker, lost)

    def _tell_of_stage(self, job: Job, stage: str) -> None:
        if (job.number, stage) != self._stage:
            self._stage, self._stage_begun = (job.number, stage), time.monotonic()
        elif time.monotonic() - self._stage_begun > LONG_SECONDS:
            self._stage_begun = math.inf
            self.on_long(f"{self.side}: {job.name}: {stage}")

    def stop(self) -> None:
        """Leave out the programs that are not done; the next poll ends the process."""
        self.jobs = ()

    def kill(self) -> None:
        """End the process."""
        if self._worker is not None:
            self._worker.kill()
            self._worker = None

    def _start(self) -> Worker:
        self._given = self.jobs[:1] if self.options.fresh else self.jobs
        self._numbers_given = frozenset(job.number for job in self._given)
        request = RunJobs(
            **self.options.model_dump(include=set(Measuring.model_fields)),
            side=self.side,
            jobs=self._given,
            hazards=self._hazards,
            # Without times and a limit, nobody judges them but in the first program of a process.
            exact_peaks=bool(self.options.steady_calls or self.options.memory_limit),
        )
        return Worker.start(request, next_free(self.folder), self.side, python=self.options.python)

    @property
    def _hazards(self) -> bool:
        return self.side == self.options.hazards_on

    def _files(self, worker: Worker, number: int) -> ProgramFiles:
        return ProgramFiles(worker.files.folder, number)

    def _take(self, done: Sequence[int]) -> None:
        """Record the programs that the process has done."""
        assert self._worker is not None
        self.jobs = tuple(job for job in self.jobs if job.number not in done)
        for number in done:
            self.on_record(number, record_of(self._files(self._worker, number)))

    def _give_up(self, worker: Worker, lost: Lost) -> None:
        """Record the program that the process was on as failed.

        Memory and threads of the programs before it may be to blame. So unless it took too long, a
        program has failed only as the first of its process; else it starts the next one. What was
        measured before the last checks took the process along is kept.
        """
        self._worker = None
        if lost.kind == "crash" and (reason := why_not_kept(worker.files)):
            raise OSError(reason)
        files = self._files(worker, self.jobs[0].number)
        if files.measured.exists():
            job, *rest = self.jobs
            first = job == self._given[0]
            record = keep_measured(files, lost, hazards=self._hazards, first=first)
            self.jobs = tuple(rest)
            self.on_record(job.number, record)
            return
        if lost.kind != "timeout" and self.jobs[0] != self._given[0]:
            return
        # A process that cannot even start will not start for the next program either.
        failed = self.jobs[:1] if worker.has_started else self.jobs
        self.jobs = self.jobs[len(failed) :]
        for job in failed:
            observation = Observation(program=job.name, side=self.side, failure=lost.failure())
            files = self._files(worker, job.number)
            files.outputs.unlink(missing_ok=True)
            finish(files, observation)
            self.on_record(job.number, Recorded(observation))


# -- a program that was measured, and whose process was lost in what comes last --------------------

# A check traces the program in its other form. The program may crash, hang or take all memory there
# alone, and the side is none the worse for it. Or the program is called as it is written.


def keep_measured(files: ProgramFiles, lost: Lost, *, hazards: bool, first: bool) -> Recorded:
    """Finish the record of a program that was measured, and say which checks were lost.

    `hazards` says that they were to be detected, too. `first` says that no other program had run in
    the process, so nothing that one left behind can have ended it.
    """
    observation = Observation.model_validate_json(files.measured.read_text("utf-8"))
    said = said_of(lost)
    if hazards and not files.hazards.exists():
        again = lost.ending == KILLED or (lost.kind != "timeout" and not first)
        reads = files.reads.read_text("utf-8") if files.reads.exists() else ""
        found = HazardsFound(not_detected=said, again=again, reads=reads)
        write(files.hazards, to_json(found))
    if lost.stage == FLIPS:
        check = Check(name=FLIPS, holds=True, measured=False, statement=said)
        observation = observation.model_copy(update={"checks": (*observation.checks, check)})
    if lost.stage == AS_WRITTEN:
        calls = (*observation.as_written, CallAsWritten(failure=lost.failure()))
        observation = observation.model_copy(update={"as_written": calls})
    finish(files, observation)
    return record_of(files)


def said_of(lost: Lost) -> str:
    """Say how a process was lost, and why as far as that is known."""
    return f"{lost.ending}: {lost.failure().message}" if lost.kind == "crash" else lost.ending


def was_killed(observation: Observation) -> bool:
    """Say whether something outside killed the process of a program, or of a check of it.

    The program is not to blame, so it is worth another try.
    """
    if observation.failure is not None:
        return observation.failure.type == KILLED
    lost = [each.statement for each in observation.checks if not each.measured]
    return any(statement.startswith(KILLED) for statement in lost)
