"""What is heard of child processes: signs of life, and what they take of the processors.

Whoever waits for a task hears that it is at work, whatever it is at.

Child processes give one when they start and when they say something, and so does each program that
is compared. Turned down: to hand the progress to each step of a campaign. A user sees that, and it
counts the programs on their sides alone.

What JAX takes to trace, lower and compile is added up as it is heard. To read it off the events in
a folder was turned down: a folder that a campaign goes on with has those of processes before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

_told: list[Callable[[], object]] = []


@contextmanager
def signs_told(tell: Callable[[], object]) -> Iterator[None]:
    """Call `tell` at each sign of life within the block.

    Example::

        with signs_told(beat):
            run_sides(jobs, SIDES, folder, RunOptions())
    """
    _told.append(tell)
    try:
        yield
    finally:
        _told.remove(tell)


def give_sign() -> None:
    """Say that this process is at work.

    Example::

        give_sign()
    """
    for tell in _told:
        tell()


# -- what JAX takes to trace, lower and compile ----------------------------------------------------

_heard: list[float] = [0.0]  # in seconds, since this process started


def hear(seconds: float) -> None:
    """Add what a child process took for one program, in seconds.

    Example::

        hear(0.25)
    """
    _heard[0] += seconds


def staging_seconds() -> float:
    """Return what child processes have taken for their programs so far, in seconds.

    Processes that measure programs say it, and those that run them again to find a cause.

    Example::

        before = staging_seconds()
        run_sides(jobs, SIDES, folder, RunOptions())
        staging_seconds() - before
    """
    return _heard[0]
