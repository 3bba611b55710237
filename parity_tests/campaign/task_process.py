"""Tasks on this machine: the process of each, started, pinned to processors, watched, and killed.

A task has a process of its own, so that what it leaves behind ends with it, its processor time is
its own, and whoever runs tasks, a thread of ours or a worker of a cluster, imports no JAX.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import psutil
from pydantic import ValidationError

from parity_tests.campaign.scheduling import Outcome
from parity_tests.campaign.tasks import Task, TaskLost, TaskResult
from parity_tests.evidence.folder_layout import TaskFiles
from parity_tests.exception_texts import signal_name
from parity_tests.processes.protocol import write
from parity_tests.processes.worker_process import START_SECONDS, pause

POLL_SECONDS = 0.05
_MOST_POLL_SECONDS = 0.5  # between two looks at a task that takes minutes
_SAY_SECONDS = 1.0
ENTRY = "parity_tests.campaign.running"
# What one step of a task may take, in time limits of a program and the start of its process: it is
# measured, judged, and looked into, and each of these has its own limit.
_STEPS = 4


class FolderError(OSError):
    """The folder of a task takes no more files, as on a full disk; the message names it and why.

    The task is not to blame, and whoever runs tasks says what to do.
    """

    def __init__(self, folder: Path, why: str) -> None:
        super().__init__(f"the folder {str(folder)!r} takes no more files ({why})")


@dataclass
class TaskProcess:
    """The process of a task; `most` is the largest share of its programs that it has said.

    `now` is what it said last that it does.
    """

    task: Task
    files: TaskFiles
    process: subprocess.Popen[bytes]
    most: float = 0.0
    now: str = ""

    @classmethod
    def start(cls, task: Task, folder: Path, processors: Sequence[int] = ()) -> TaskProcess:
        """Start a process on a task, on some processors alone where any are named.

        What it had finished in `folder` before is not run again. Raises `FolderError`.
        """
        files = TaskFiles(folder)
        with _log_of_started(task, files) as log:
            process = subprocess.Popen(
                # -P: the working directory may have a `reports` of the user's.
                [sys.executable, "-P", "-m", ENTRY, str(folder.absolute())],
                cwd=task.working_directory if os.path.isdir(task.working_directory) else None,
                stdin=subprocess.PIPE,  # held open: the process ends when this one does
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # Ctrl-C is for the parent, which then kills the group
            )
        if processors:
            with contextlib.suppress(psutil.Error, AttributeError):  # macOS pins no process
                psutil.Process(process.pid).cpu_affinity(list(processors))
        return cls(task, files, process)

    def outcome(self) -> TaskResult | TaskLost | None:
        """Return what the task came to; None while it is at work.

        Raises `FolderError`, which is no fault of the task.
        """
        code = self.process.poll()
        if code is None:
            idle = time.time() - self.files.beat.stat().st_mtime
            limit = _STEPS * (START_SECONDS + self.task.campaign.timeout)
            if idle <= limit:
                return None
            self.kill()
            return self._lost(f"no step of it ended in {limit:g} seconds")
        self.kill()  # what it started
        if code == 0 and self.files.result.exists():
            try:
                return TaskResult.model_validate_json(self.files.result.read_bytes())
            except ValidationError as error:
                return self._lost(f"its result is damaged ({error.error_count()} errors)")
        if code == os.EX_IOERR:
            raise FolderError(
                self.files.folder, self._last_line() or "its process could not say why"
            )
        ending = f"signal {signal_name(-code)}" if code < 0 else f"exit status {code}"
        return self._lost(f"its process ended with {ending}")

    def share(self) -> float:
        """Return which share of its programs a task at work has behind it, as far as it says."""
        said = self.files.beat.read_text("utf-8", "replace")  # it may be written at this moment
        done, total, now = [*said.split(" ", 2), "", "", ""][:3]
        self.now = now or self.now
        if total.isdecimal() and int(total):
            # What looks into differences has steps of its own, and begins with none of them.
            self.most = max(self.most, int(done) / int(total))
        return self.most

    def kill(self) -> None:
        """End the process; the processes of its sides end with it."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        if self.process.stdin is not None:
            with contextlib.suppress(BrokenPipeError):
                self.process.stdin.close()

    def _lost(self, how: str) -> TaskLost:
        line = self._last_line()
        return TaskLost(key=self.task.key, why=f"{how}: {line}" if line else how)

    def _last_line(self) -> str:
        """Return the last line that the process printed."""
        with contextlib.suppress(OSError):
            lines = self.files.log.read_text(errors="replace").strip().splitlines()
            return lines[-1] if lines else ""
        return ""


def _log_of_started(task: Task, files: TaskFiles) -> BinaryIO:
    """Write what a process reads of a task, and open its log. Raises `FolderError`."""
    try:
        files.folder.mkdir(parents=True, exist_ok=True)
        write(files.request, task.model_dump_json())
        files.beat.touch()
        return open(files.log, "ab")
    except OSError as error:
        raise FolderError(files.folder, error.strerror or str(error)) from error


def run_here(
    tasks: Iterator[Task],
    folder: Path,
    *,
    jobs: int = 1,
    at_work: Callable[[float, str], object] = lambda programs, now: None,
) -> Iterator[Outcome]:
    """Run tasks as they come, at most `jobs` at a time, and return each as it ends.

    `at_work` is told once a second how many programs the tasks at work have behind them, and what
    they do now; what it raises ends them. Processes are killed when the iterator is closed. Raises
    `FolderError` where the folder of a task takes no more files.

    Example::

        for task, outcome in run_here(iter(tasks), folder, jobs=2): ...
    """
    going: dict[int, TaskProcess] = {}
    free, said, started = list(range(jobs)), 0.0, time.monotonic()
    try:
        while True:
            while free and (task := next(tasks, None)) is not None:
                slot = free.pop(0)
                going[slot] = TaskProcess.start(task, folder / task.key, processors_of(slot, jobs))
                started = time.monotonic()
            if not going:
                return
            for slot, running in list(going.items()):
                if (outcome := running.outcome()) is not None:
                    del going[slot]
                    free.append(slot)
                    yield running.task, outcome
            if going and time.monotonic() - said >= _SAY_SECONDS:
                said = time.monotonic()
                programs = sum(each.share() * len(each.task.programs) for each in going.values())
                at_work(programs, " | ".join(each.now for each in going.values() if each.now))
            time.sleep(pause(time.monotonic() - started, most=_MOST_POLL_SECONDS))
    finally:
        for running in going.values():
            running.kill()


def processors_of(slot: int, jobs: int, available: Sequence[int] | None = None) -> list[int]:
    """Return the processors of one of `jobs` slots: a share of those that this process may use.

    With more slots than processors, several slots share one.

    Example::

        >>> processors_of(1, 2, [0, 1, 2, 3])
        [2, 3]
        >>> processors_of(4, 5, [0, 1])
        [0]
    """
    if available is None:
        available = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
    share = len(available) // jobs
    if not available or not share:
        return list(available[slot % len(available) :][:1]) if available else []
    return list(available[slot * share : (slot + 1) * share])
