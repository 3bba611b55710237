"""Signs of life: whoever waits for a task hears that it is at work, whatever it is at.

Child processes give one when they start and when they say something, and so does each program that
is compared. Turned down: to hand the progress to each step of a campaign. A user sees that, and it
counts the programs on their sides alone.
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
