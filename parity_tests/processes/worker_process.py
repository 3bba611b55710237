"""One child process: how it is started, watched, killed, and how it is lost.

Every process that runs a user's programs is a `Worker`. All but those of a benchmark, which take
turns, are watched by `supervise`: it polls them until each is finished, and kills the others when
it is interrupted. Stand-alone files of `reduce` start processes of their own.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol

import psutil

from parity_tests.evidence.folder_layout import ProcessFiles
from parity_tests.exception_texts import signal_name
from parity_tests.processes import early_starts
from parity_tests.processes.interpreters import user_paths
from parity_tests.processes.options import Limits
from parity_tests.processes.protocol import AnswerT, Order, Question, Step
from parity_tests.processes.side_environment import FOLDER, environment_of
from parity_tests.processes.signs_of_life import give_sign, hear
from reports.rows import Failure, Row, Side

PROCESSES = 2
# A look takes a fifth of a millisecond. The longer the work takes, the longer is the pause between
# two looks: a hundredth of the time so far, within these limits.
POLL_SECONDS = 0.02
MOST_POLL_SECONDS = 0.1
_PART_OF_WAIT = 100
# Python, JAX and its backend start within this, on top of the first program's time limit.
START_SECONDS = 60.0
_REAP_SECONDS = 5.0  # for a process to be gone that was killed

LostKind = Literal["crash", "timeout", "memory"]
KILLED = "signal SIGKILL"  # how a process ended that something outside has killed


@dataclass(frozen=True)
class Lost:
    """How a process was lost, in which stage, and the end of what it printed.

    `ending` is "exit status 3", "signal SIGSEGV", or says which `limit` was exceeded.
    """

    kind: LostKind
    ending: str
    stage: str
    log: str
    limit: float | None = None

    def failure(self) -> Failure:
        """Return the failure of the program that the process was on."""
        if self.kind == "crash":
            type_, message = self.ending, _ENDED_BY.get(self.ending) or _ended_by(self.log)
        else:
            type_ = {"timeout": "TimeLimit", "memory": "MemoryLimit"}[self.kind]
            message = self.ending
        return Failure(
            kind=self.kind,
            stage=self.stage,
            type=type_,
            message=message,
            traceback=self.log,
            limit=self.limit,
            where=crashed_at(self.log) if self.kind == "crash" else "",
        )

    @property
    def last_words(self) -> str:
        """What the process printed before it ended; "" where it was killed at a limit."""
        return self.log if self.kind == "crash" else ""


_ENDED_BY = {
    KILLED: "the process was killed from outside, or by the kernel because memory ran out; a "
    "campaign with --resume runs the program again",
}


def _ended_by(log: str) -> str:
    """Return the error of ours that ended a process, which is the last line that it printed."""
    last = log.strip().rpartition("\n")[2]
    return last if last.startswith("parity_tests.") else "the process ended"


class Supervised(Protocol):
    """Work that processes do, and that `supervise` waits for."""

    @property
    def finished(self) -> bool:
        """Whether there is nothing more to wait for."""

    def poll(self) -> None:
        """Start what is not started, and see how far it has come."""

    def kill(self) -> None:
        """End the processes."""


def supervise(work: Sequence[Supervised], *, at_once: int = PROCESSES) -> None:
    """Do work, at most `at_once` at a time, and return when all is finished.

    Processes are killed when this raises, KeyboardInterrupt included.
    """
    waiting: list[Supervised] = list(work)
    going: list[Supervised] = []
    begun = time.monotonic()
    try:
        while waiting or going:
            while waiting and len(going) < at_once:
                going.append(waiting.pop(0))
            for each in going:
                each.poll()
            going = [each for each in going if not each.finished]
            time.sleep(pause(time.monotonic() - begun))
    finally:
        for each in going:
            each.kill()


def pause(waited: float, *, most: float = MOST_POLL_SECONDS) -> float:
    """Return for how many seconds not to look at work that has taken `waited` seconds so far.

    Example::

        >>> pause(0.5), pause(5.0), pause(600.0), pause(600.0, most=0.5)
        (0.02, 0.05, 0.1, 0.5)
    """
    return min(max(POLL_SECONDS, waited / _PART_OF_WAIT), most)


@dataclass
class Worker:
    """One child process, and how far its events have been read."""

    process: subprocess.Popen[bytes]
    files: ProcessFiles
    stage: str = "start of the process"
    has_started: bool = False
    is_spent: bool = False  # it does no program after the one that it is on
    is_changed: bool = False  # by a module, whose programs alone it is fit for
    step: Step | None = None  # what it said last of how far it has come with a question
    _read: int = 0  # bytes
    _has_ended: bool = False
    _killed: bool = False
    _last: float = field(default_factory=time.monotonic)

    @classmethod
    def start(
        cls,
        request: Row,
        folder: Path,
        side: Side,
        *,
        python: Path | None = None,
        environment: Mapping[str, str] | None = None,
        pass_fds: Sequence[int] = (),
    ) -> Worker:
        """Start a process of a side on a request, which is written to its folder.

        It runs in the interpreter `python`, by default this one. It has the environment of its side
        unless another one is given, and the file descriptors `pass_fds`. A process that waits for
        such a request is taken instead of a new one.
        """
        give_sign()
        files = ProcessFiles(folder)
        paths = user_paths() if python else tuple(sys.path)
        order = Order.model_validate({"folder": folder, "sys_path": paths, "request": request})
        files.request.write_text(order.model_dump_json())
        if python is None and environment is None and not pass_fds:
            waiting = early_starts.take(order.request.kind, side)
            if waiting is not None:
                files.log.touch()  # it goes on there
                worker = cls(waiting, files)
                worker.give(str(files.request))
                return worker
        given = dict(environment_of(side) if environment is None else environment)
        if python:
            given.pop("PYTHONHOME", None)  # it is of this interpreter
        process = early_starts.spawn(
            files.request, side, files.log, given, python=python, pass_fds=pass_fds
        )
        return cls(process, files)

    def give(self, line: str) -> None:
        """Hand on a line of text, for which the process gets as long as for its first."""
        assert self.process.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # the next poll sees that the process has ended
            self.process.stdin.write(f"{line}\n".encode())
            self.process.stdin.flush()
        self._last = time.monotonic()

    def has_ended(self) -> bool:
        """Say whether the process has ended."""
        return self.process.poll() is not None

    def listen(self) -> list[int]:
        """Hear what the process said since the last call, and return the programs that are done."""
        self._has_ended = self.has_ended()  # before reading, to miss no last words
        if not self.files.events.exists():
            return []
        with open(self.files.events, "rb") as lines:
            lines.seek(self._read)
            said = lines.read()
        whole = said[: said.rfind(b"\n") + 1]
        self._read += len(whole)
        if whole:
            give_sign()
        done = []
        for line in whole.decode().split("\n")[:-1]:
            event, what = line.split(maxsplit=1)
            match event:
                case "staging":
                    hear(float(what))
                case "stage":
                    self.stage = what
                case "spent":
                    self.is_spent = True
                case "changed":
                    self.is_changed = True
                case "step":
                    self.step = Step.model_validate_json(what)
                case _:
                    self._last = time.monotonic()
                    self.stage, self.has_started = "import", True
                    done += [int(what)] if event == "done" else []
        return done

    def lost(self, limits: Limits) -> Lost | None:
        """Kill a process that ended or exceeds a limit, and say how it was lost; None if it works.

        To be called after `listen`, when what the process said last does not finish it.
        """
        if self._has_ended:
            self.kill()  # and with it what a program started, while its id is not another's
            return self.last("crash", self._exit())
        if self.idle_seconds() > limits.timeout + (0 if self.has_started else START_SECONDS):
            self.kill()
            ending = f"no result in {limits.timeout:g} seconds"
            return self.last("timeout", ending, limits.timeout)
        if limits.memory and (used := self._resident_bytes()) > limits.memory:
            self.kill()
            ending = f"{used:,} bytes resident, and the limit is {limits.memory:,}"
            return self.last("memory", ending, limits.memory)
        return None

    def last(self, kind: LostKind, ending: str, limit: float | None = None) -> Lost:
        """Describe how the process was lost, in the stage that it had reached."""
        return Lost(kind, ending, self.stage, self.log_tail(), limit)

    def answer(self, question: type[Question[AnswerT]]) -> AnswerT | Lost:
        """Read the answer that the process left, or say how it ended without one."""
        if self.files.answer.exists():
            return question.read(self.files.answer.read_text("utf-8"))
        return self.last("crash", self._exit())

    def kill(self) -> None:
        """End the process and whatever it started, and take its exit status.

        The second time nothing is signalled: the id may be another process's by then.
        """
        if not self._killed:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self._killed = True
        # A signal that came while Popen looked leaves its lock taken, for which `wait` alone waits
        # for ever.
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(timeout=_REAP_SECONDS)
        if self.process.stdin is not None:
            with contextlib.suppress(BrokenPipeError):  # the process ended before it read this line
                self.process.stdin.close()

    def idle_seconds(self) -> float:
        """Return the seconds since the process said something, or was given something."""
        return time.monotonic() - self._last

    def log_tail(self) -> str:
        """Return the end of what the process and its programs printed."""
        return self.files.log.read_text(errors="replace")[-4000:]

    def _resident_bytes(self) -> int:
        """Return the resident memory of the process; 0 where it has just ended."""
        try:
            return int(psutil.Process(self.process.pid).memory_info().rss)
        except psutil.NoSuchProcess:
            return 0

    def _exit(self) -> str:
        """Say how the process ended: "exit status 3" or "signal SIGSEGV"."""
        code = self.process.returncode
        if code is None:
            return "still running"
        if code < 0:
            return f"signal {signal_name(-code)}"
        return f"exit status {code}"


# -- where a process crashed -----------------------------------------------------------------------

# "Fatal Python error: Aborted", or "Windows fatal exception: access violation".
_HEAD = re.compile(r"^(?:Fatal Python error|Windows fatal exception): ", re.MULTILINE)
_THREAD = re.compile(r"^Current thread .*\(most recent call first\):$", re.MULTILINE)
_FRAME = re.compile(r'^  File "(?P<file>.+)", line (?P<line>\d+) in .+$', re.MULTILINE)

_INSTALLED = re.compile(r"[\\/](?:site-packages|dist-packages|lib[\\/]python\d[\d.]*)[\\/]")
_OURS = (*(f"{FOLDER}{os.sep}{each}{os.sep}" for each in ("parity_tests", "engine")),)
_CORPUS = f"{FOLDER}{os.sep}parity_tests{os.sep}corpus{os.sep}"


def crashed_at(log: str) -> str:
    """Return the user's line on which a process crashed, as "file:line"; "" where it is not told.

    Example::

        crashed_at(log) == "my_model.py:12"
    """
    heads = list(_HEAD.finditer(log))
    thread = _THREAD.search(log, heads[-1].end()) if heads else None
    if thread is None:
        return ""
    lines = log[thread.end() :].lstrip("\n").split("\n")
    for line in lines:
        frame = _FRAME.match(line)
        if frame is None:
            return ""  # the frames of another thread follow
        if _is_users(frame["file"]):
            return f"{_relative(frame['file'])}:{frame['line']}"
    return ""


def _is_users(file: str) -> bool:
    if file.startswith(_CORPUS):
        return True
    return not (file.startswith(("<", *_OURS)) or _INSTALLED.search(file))


def _relative(file: str) -> str:
    path, here = Path(file), Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else file
