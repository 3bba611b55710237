"""Staging: what JAX takes of the processors to trace, lower and compile, in all child processes.

It is added up as it is heard, as the system adds up what children took. To read it off the events
in a folder was turned down: a folder that a campaign goes on with has those of processes before.
"""

from __future__ import annotations

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
