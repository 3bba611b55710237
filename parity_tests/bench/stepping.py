"""Taking turns, in the child: a process measures in steps that `runner.py` hands out.

It says on a pipe that it waits, and in which row, and goes on when it is given a line on stdin. A
campaign looks for files every so often, which would take longer here than a measurement.
"""

from __future__ import annotations

import os
from queue import SimpleQueue


class Turns:
    """The steps of this process; `place` is the place of its row among the rows of the turn."""

    def __init__(self, says_on: int, lines: SimpleQueue[str]) -> None:
        self._says_on, self._lines = says_on, lines
        os.set_inheritable(says_on, False)  # or what it starts would hold the pipe open
        self.place = 0

    def wait(self) -> None:
        """Wait until it is this process's turn again."""
        os.write(self._says_on, f"{self.place}\n".encode())
        self._lines.get()


_turns: list[Turns] = []  # empty where this process is alone


def enter(turns: Turns) -> None:
    """Have `wait` wait from now on."""
    _turns.append(turns)


def come_to(place: int) -> None:
    """Come to the row at a place among the rows of the turn, and wait for the others there."""
    for turns in _turns:
        turns.place = place
    wait()


def wait() -> None:
    """Wait, before a measurement, for the turn of this process; do nothing where it is alone."""
    for turns in _turns:
        turns.wait()
