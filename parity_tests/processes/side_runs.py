"""Run programs on sides, each side in processes of its own; crashes and time limits are data.

A side needs its own process because stock JAX latches its flag at import, and because a program
that crashes must not take the campaign with it.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import psutil

import parity_tests
from parity_tests.evidence import values
from parity_tests.evidence.records import Evidence
from parity_tests.processes.protocol import Foreseen, Job, Listing, Request, to_json, write
from reports.rows import Failure, Hazard, Observation, Side

PROCESSES = 2
POLL_SECONDS = 0.02
STEADY_CALLS = 20
# Python, JAX and its backend start within this, on top of the first program's time limit.
START_SECONDS = 60.0

ANSWER = "answer.json"

JAX_FLAG = "JAX_USE_SIMPLIFIED_JAXPR_CONSTANTS"
OUR_FLAG = "CONSTPARITY_USE_SIMPLIFIED_CONSTANTS"


class ListingError(RuntimeError):
    """The process that lists the programs died; the message has the end of what it printed."""


@dataclass(frozen=True)
class Recorded:
    """What a worker left of one program: its observation, and where its other files are."""

    observation: Observation
    folder: Path | None = None
    number: int = 0

    def evidence(self) -> Evidence:
        """Load the output arrays and the printed jaxpr; there are none where the side failed."""
        if self.folder is None:
            return Evidence(self.observation)
        return Evidence(
            self.observation,
            values.load(self.folder / f"{self.number}.npz"),
            (self.folder / f"{self.number}.jaxpr.txt").read_text("utf-8"),
        )

    def hazards(self) -> tuple[Hazard, ...]:
        """Read the hazards; there are none but on the side that was asked for them."""
        file = self.folder / f"{self.number}.hazards.json" if self.folder else None
        if file is None or not file.exists():
            return ()
        return Foreseen.model_validate_json(file.read_text("utf-8")).hazards


Progress = Callable[[int, int, str], None]


def environment_of(
    side: Side, inherited: Mapping[str, str] | None = None, *, xla_flags: str = ""
) -> dict[str, str]:
    """Return the environment that a process of a side starts with.

    Our sides choose per function and run beside stock JAX as it is by default, whatever the user
    has set. The persistent compilation cache is off: a compile time read from it is not one.
    Strings hash alike in every process, so that a set of them is traced in one order.
    `xla_flags` go after those of the user. Raises `OSError` where the user's are in a file that
    cannot be read.
    """
    environment = dict(os.environ if inherited is None else inherited)
    if xla_flags:
        own = environment.get("XLA_FLAGS", "").strip()
        if own and not own.startswith("-"):  # XLA takes it for the name of a file
            own = " ".join(Path(own).read_text("utf-8").split())
        environment["XLA_FLAGS"] = f"{own} {xla_flags}".strip()
    environment.pop(OUR_FLAG, None)
    environment[JAX_FLAG] = "1" if side == "jax-simplified" else "0"
    environment["JAX_ENABLE_COMPILATION_CACHE"] = "0"
    environment.setdefault("PYTHONHASHSEED", "0")
    here = str(Path(parity_tests.__file__).absolute().parent.parent)
    # The folder of parity_tests, since it may not be installed but run from a source tree.
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, [here, environment.get("PYTHONPATH")]))
    return environment


def list_programs(targets: Sequence[str], folder: Path, *, timeout: float) -> Listing:
    """List the programs of targets in a process of their own, where their modules are imported.

    `timeout` is in seconds, beside what a process takes to start. Raises `ListingError` where that
    process dies or does not end.
    """
    what = " ".join(targets) or "the built-in corpus"
    request = Request(
        action="list", folder=folder, sys_path=tuple(sys.path), targets=tuple(targets)
    )
    answer = folder / "listing.json"
    answer.unlink(missing_ok=True)  # of a campaign that is gone on with
    worker = Worker.start(request, "jax-legacy")
    try:
        # A process that has answered need not end: a thread of a module may keep it.
        while worker.process.poll() is None and not answer.exists():
            if worker.idle_seconds() > START_SECONDS + timeout:
                raise ListingError(
                    f"importing {what}: no end in {START_SECONDS + timeout:g} seconds; does a "
                    f"module wait for something when it is imported?\n{worker.log_tail()}"
                )
            time.sleep(POLL_SECONDS)
    finally:
        worker.kill()
    if not answer.exists():
        raise ListingError(f"importing {what}: {worker.ending()}\n{worker.log_tail()}")
    return Listing.model_validate_json(answer.read_text("utf-8"))


@dataclass(frozen=True)
class NoAnswer:
    """How a process ended that left no answer, and the end of what it printed."""

    ending: str
    log: str


def ask(request: Request, side: Side, *, timeout: float) -> str | NoAnswer:
    """Have a process of its own do a request, and return the text of the answer that it left.

    `timeout` is in seconds, beside what a process takes to start.
    """
    [answer] = ask_all([(request, side)], timeout=timeout)
    return answer


def ask_all(
    questions: Sequence[tuple[Request, Side]], *, timeout: float, xla_flags: str = ""
) -> list[str | NoAnswer]:
    """Ask as `ask` does, all at once: the caller asks for no more than `PROCESSES`.

    `xla_flags` are for XLA in these processes, after those of the user. Raises `OSError` as
    `environment_of` does.
    """
    workers: list[Worker] = []
    late: set[int] = set()
    try:
        for request, side in questions:
            (request.folder / ANSWER).unlink(missing_ok=True)  # of a campaign that is gone on with
            workers.append(Worker.start(request, side, xla_flags))
        while going := [each for each in workers if each.process.returncode is None]:
            for worker in going:
                if worker.process.poll() is not None or (worker.folder / ANSWER).exists():
                    worker.kill()  # and with it what it started, while its id is not another's
                elif worker.idle_seconds() > timeout + START_SECONDS:
                    late.add(id(worker))
                    worker.kill()
            time.sleep(POLL_SECONDS)
    finally:
        for worker in workers:
            worker.kill()
    return [
        NoAnswer(f"no result in {timeout:g} seconds", "") if id(each) in late else each.answer()
        for each in workers
    ]


def truth_of(folder: Path, number: int) -> tuple[values.Value, ...]:
    """Read the outputs of the arbiter for a program; there are none where it was not asked."""
    file = folder / f"arbiter-{number}" / "truth.npz"
    return values.load(file) if file.exists() else ()


def run_sides(
    jobs: Sequence[Job],
    sides: Sequence[Side],
    folder: Path,
    *,
    timeout: float,
    steady_calls: int = STEADY_CALLS,
    fresh: bool = False,
    hazards_on: Side | None = None,
    reload: bool = False,
    memory_limit: int | None = None,
    progress: Progress = lambda done, total, text: None,
) -> dict[tuple[int, Side], Recorded]:
    """Run every job on every side, at most two processes at a time.

    `timeout` is in seconds for one program on one side, `steady_calls` is how often a program is
    called to time it, and with `fresh` each program gets a process of its own. The workers of
    `hazards_on` detect the hazards too, and with `reload` each program is exported and reloaded. A
    worker whose resident memory grows beyond `memory_limit`, in bytes, is killed, and its program
    has failed; so has one whose process crashed. Where other programs had run in that process, it
    is run once more, as the first of another. What the folder has from a campaign that was
    interrupted is not run again. Returns one record for each job's number and side. Workers are
    killed when this returns or raises, KeyboardInterrupt included.
    """
    numbers = {job.number for job in jobs}
    recorded = {
        (number, side): record
        for side in sides
        for number, record in _recorded_before(folder / side).items()
        if number in numbers
    }
    waiting = [
        _SideRun(
            side,
            tuple(job for job in jobs if (job.number, side) not in recorded),
            folder / side,
            timeout,
            steady_calls,
            fresh,
            hazards=side == hazards_on,
            reload=reload,
            memory_limit=memory_limit,
        )
        for side in sides
    ]
    running: list[_SideRun] = []
    total = len(jobs) * len(sides)
    if recorded:
        progress(len(recorded), total, "finished before")
    try:
        while waiting or running:
            while waiting and len(running) < PROCESSES:
                running.append(waiting.pop(0))
            for run in list(running):
                for number, record in run.poll():
                    recorded[number, run.side] = record
                    name = record.observation.program
                    progress(len(recorded), total, f"{run.side}: {name}")
                if run.finished:
                    running.remove(run)
            time.sleep(POLL_SECONDS)
    finally:
        for run in running:
            run.kill()
    return recorded


def _recorded_before(folder: Path) -> dict[int, Recorded]:
    """Read what workers of a side left; of a program's files, the observation is the last."""
    return {
        int(file.stem): record_of(file.parent, int(file.stem))
        for file in sorted(folder.glob("*/*.json"))
        if file.stem.isdecimal()
    }


def record_of(folder: Path, number: int) -> Recorded:
    """Read what a worker left of a program."""
    text = (folder / f"{number}.json").read_text("utf-8")
    observation = Observation.model_validate_json(text)
    if not (folder / f"{number}.npz").exists():
        return Recorded(observation)  # a side that was given up
    return Recorded(observation, folder, number)


@dataclass
class _SideRun:
    """The jobs of one side, and the worker that is on them; a dead worker is replaced."""

    side: Side
    jobs: tuple[Job, ...]
    folder: Path
    timeout: float
    steady_calls: int
    fresh: bool
    hazards: bool = False
    reload: bool = False
    memory_limit: int | None = None
    _worker: Worker | None = None
    _given: tuple[Job, ...] = ()  # to the worker, which ends when it has done them
    _generation: int = 0

    @property
    def finished(self) -> bool:
        return not self.jobs and self._worker is None

    def poll(self) -> list[tuple[int, Recorded]]:
        """Return what is new since the last poll, and see to the worker."""
        if self._worker is None:
            if not self.jobs:
                return []
            self._worker = self._start()
        ended = self._worker.process.poll() is not None  # before reading, to miss no last words
        new = self._collect(self._worker.read_events())
        if not set(self._given) & set(self.jobs):
            self.kill()  # it may not end by itself, for a thread of a program does not
            return new
        if ended:
            self._worker.kill()  # and with it what the program itself started
            new += self._give_up("crash", self._worker.ending(), "the process ended")
        elif self._worker.idle_seconds() > self._limit():
            self._worker.kill()
            new += self._give_up("timeout", "TimeLimit", f"no result in {self.timeout:g} seconds")
        elif self.memory_limit and (used := self._worker.resident_bytes()) > self.memory_limit:
            self._worker.kill()
            message = f"{used:,} bytes resident, and the limit is {self.memory_limit:,}"
            new += self._give_up("memory", "MemoryLimit", message)
        return new

    def kill(self) -> None:
        if self._worker is not None:
            self._worker.kill()
            self._worker = None

    def _start(self) -> Worker:
        self._generation += 1
        while (folder := self.folder / str(self._generation)).exists():
            self._generation += 1  # of a campaign that was interrupted
        folder.mkdir(parents=True)
        self._given = self.jobs[:1] if self.fresh else self.jobs
        request = Request(
            action="run",
            folder=folder,
            sys_path=tuple(sys.path),
            side=self.side,
            jobs=self._given,
            steady_calls=self.steady_calls,
            hazards=self.hazards,
            reload=self.reload,
        )
        return Worker.start(request, self.side)

    def _limit(self) -> float:
        assert self._worker is not None
        return self.timeout + (0 if self._worker.has_started else START_SECONDS)

    def _collect(self, finished: list[int]) -> list[tuple[int, Recorded]]:
        assert self._worker is not None
        new = [(number, record_of(self._worker.folder, number)) for number in finished]
        self.jobs = tuple(job for job in self.jobs if job.number not in finished)
        return new

    def _give_up(
        self, kind: Literal["crash", "timeout", "memory"], type_: str, message: str
    ) -> list[tuple[int, Recorded]]:
        """Record the program that the worker was on as failed, and let go of the worker.

        Memory and threads of the programs before it may be to blame: unless it took too long, a
        program is only recorded where it was the first of its process, and else starts the next.
        """
        worker = self._worker
        assert worker is not None
        if kind != "timeout" and self.jobs[0] != self._given[0]:
            self._worker = None
            return []
        failure = worker.failure(kind, type_, message)
        # A process that cannot even start will not start for the next program either.
        lost = self.jobs[:1] if worker.has_started else self.jobs
        self.jobs = self.jobs[len(lost) :]
        self._worker = None
        new = []
        for job in lost:
            observation = Observation(program=job.name, side=self.side, failure=failure)
            (worker.folder / f"{job.number}.npz").unlink(missing_ok=True)
            write(worker.folder / f"{job.number}.json", to_json(observation))
            new.append((job.number, Recorded(observation)))
        return new


@dataclass
class Worker:
    """One worker process, and how far its events have been read."""

    process: subprocess.Popen[bytes]
    folder: Path
    stage: str = "start of the process"
    has_started: bool = False
    _read: int = 0
    _killed: bool = False
    _last: float = field(default_factory=time.monotonic)

    @classmethod
    def start(
        cls,
        request: Request,
        side: Side,
        xla_flags: str = "",
        *,
        environment: Mapping[str, str] | None = None,
        pass_fds: Sequence[int] = (),
    ) -> Worker:
        """Start a process of a side on a request, which is written to its folder.

        It has this environment, or else that of its side, and the file descriptors `pass_fds`.
        """
        if environment is None:
            environment = environment_of(side, xla_flags=xla_flags)
        file = request.folder / "request.json"
        file.write_text(request.model_dump_json())
        with open(request.folder / "log", "wb") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", "parity_tests.worker", str(file)],
                stdin=subprocess.PIPE,  # held open: the worker ends when this process does
                stdout=log,
                stderr=subprocess.STDOUT,
                env=environment,
                pass_fds=pass_fds,
                # Ctrl-C is for the parent, which then kills the whole group.
                start_new_session=True,
            )
        return cls(process, request.folder)

    def failure(
        self, kind: Literal["crash", "timeout", "memory"], type_: str, message: str
    ) -> Failure:
        """Describe how a program was lost with this process, in the stage that it had reached."""
        return Failure(
            kind=kind, stage=self.stage, type=type_, message=message, traceback=self.log_tail()
        )

    def give(self, line: str) -> None:
        """Hand on a line of text, for which the process gets as long as for its first."""
        assert self.process.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # that it ended is seen when it is polled
            self.process.stdin.write(f"{line}\n".encode())
            self.process.stdin.flush()
        self._last = time.monotonic()

    def read_events(self) -> list[int]:
        """Read the events since the last call, and return the programs that are done."""
        file = self.folder / "events"
        if not file.exists():
            return []
        with open(file) as lines:
            lines.seek(self._read)
            text = lines.read()
        whole = text[: text.rfind("\n") + 1]
        self._read += len(whole)
        done = []
        for line in whole.splitlines():
            event, what = line.split(maxsplit=1)
            if event == "stage":
                self.stage = what
                continue
            self._last = time.monotonic()
            self.stage, self.has_started = "import", True
            if event == "done":
                done.append(int(what))
        return done

    def idle_seconds(self) -> float:
        """Return the seconds since the process said something, or was given something."""
        return time.monotonic() - self._last

    def resident_bytes(self) -> int:
        """Return the resident memory of the process; 0 where it has just ended."""
        try:
            return psutil.Process(self.process.pid).memory_info().rss
        except psutil.NoSuchProcess:
            return 0

    def kill(self) -> None:
        """End the process and whatever it started, and take its exit status.

        The second time nothing is signalled: the id may be that of another process by then.
        """
        if not self._killed:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self._killed = True
        self.process.wait()
        if self.process.stdin is not None:
            with contextlib.suppress(BrokenPipeError):  # of what was given to it in vain
                self.process.stdin.close()

    def answer(self) -> str | NoAnswer:
        """Return the text of the answer that the process left, or how it ended without one."""
        file = self.folder / ANSWER
        if file.exists():
            return file.read_text("utf-8")
        return NoAnswer(self.ending(), self.log_tail())

    def ending(self) -> str:
        """Say how the process ended: "exit status 3" or "signal SIGSEGV"."""
        code = self.process.returncode
        if code is None:
            return "still running"
        if code < 0:
            return f"signal {signal.Signals(-code).name}"
        return f"exit status {code}"

    def log_tail(self) -> str:
        """Return the end of what the process and its programs printed."""
        return (self.folder / "log").read_text(errors="replace")[-4000:]
