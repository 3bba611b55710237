"""Tasks on this machine: some at once, each pinned to processors of its own."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from parity_tests.planned.going import Outcome
from parity_tests.planned.task_process import MOST_POLL_SECONDS, TaskProcess, finished_before
from parity_tests.planned.tasks import Task
from parity_tests.processes.worker_process import pause

_SAY_SECONDS = 1.0


def run_here(
    tasks: Iterator[Task],
    folder: Path,
    *,
    jobs: int = 1,
    at_work: Callable[[float, str], object] = lambda programs, now: None,
) -> Iterator[Outcome]:
    """Run tasks as they come, at most `jobs` at a time, and return each as it ends.

    `at_work` is told once a second how many programs the tasks at work have behind them, and what
    they do now. Processes are killed when the iterator is closed. Raises `FolderError` where the
    folder of a task takes no more files.

    Example::

        for task, outcome in run_here(iter(tasks), folder, jobs=2): ...
    """
    going: dict[int, TaskProcess] = {}
    free, said, started = list(range(jobs)), 0.0, time.monotonic()
    try:
        while True:
            while free and (task := next(tasks, None)) is not None:
                if (found := finished_before(task, folder / task.key)) is not None:
                    yield task, found
                    continue
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
            time.sleep(pause(time.monotonic() - started, most=MOST_POLL_SECONDS))
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
