"""Contestants that are alive together: one at a time runs while the others wait.

A machine may change its speed by half between two processes, and one core may be slower than
another. So the processes of a turn live side by side on one core and go from measurement to
measurement in steps, which are handed out here. A slow moment of the machine then slows all of
them. One process after the other was the alternative, and it measured mostly the machine.
"""

from __future__ import annotations

import os
import select
from collections.abc import Sequence
from pathlib import Path

from parity_tests.bench.contestants import side_of
from parity_tests.processes.protocol import TakeBenchTurn
from parity_tests.processes.side_environment import environment_of
from parity_tests.processes.worker_process import Lost, Worker
from reports.rows import Side
from reports.rows.bench import BenchTurn, TurnTaken


class BenchError(RuntimeError):
    """A process left no answer; the message has the contestant, the rows and its last words."""


class LiveProcess:
    """The process of one contestant, as its parent sees it; it starts at its first step.

    `timeout` is in seconds for one step.
    """

    def __init__(self, turn: BenchTurn, folder: Path, *, timeout: float) -> None:
        self.turn = turn
        self.taken: TurnTaken | None = None
        self._folder = folder
        self._timeout = timeout
        self._worker: Worker | None = None
        self._said = -1

    def step(self) -> int | None:
        """Let the process run until it waits, and return the place of its row; None at its end.

        Raises `BenchError` where it takes too long, or ended without an answer.
        """
        if self._worker is None:
            self._worker = self._start()
        else:
            self._worker.give("go")
        readable, _, _ = select.select([self._said], [], [], self._timeout)
        if not readable:
            ending = f"no result in {self._timeout:g} seconds"
            raise self._error(self._worker.last("timeout", ending))
        if place := os.read(self._said, 16):
            return int(place)
        self._worker.process.wait()
        self._worker.kill()  # and what it started, before its id can be another's
        answer = self._worker.answer(TakeBenchTurn)
        if isinstance(answer, Lost):
            raise self._error(answer)
        self.taken = answer
        return None

    def close(self) -> None:
        """End the process and whatever it started."""
        if self._worker is not None:
            self._worker.kill()
        if self._said >= 0:
            os.close(self._said)

    def _start(self) -> Worker:
        side = side_of(self.turn.contestant)
        self._folder.mkdir()
        self._said, theirs = os.pipe()
        request = TakeBenchTurn(turn=self.turn, says_on=theirs)
        try:
            environment = self._environment(side)
            return Worker.start(
                request, self._folder, side, environment=environment, pass_fds=(theirs,)
            )
        except OSError as error:
            ending = f"could not be started: {error}"
            raise self._error(Lost("crash", ending, "start of the process", "")) from error
        finally:
            os.close(theirs)  # the process keeps its end open until it ends

    def _environment(self, side: Side) -> dict[str, str]:
        """Return the side's environment without CONSTPARITY_*, which the user may have set.

        Each process hashes strings by a seed of its own: one seed for all would favour one layout
        of memory.
        """
        environment = {
            name: value
            for name, value in environment_of(side).items()
            if not name.startswith("CONSTPARITY_")
        }
        if "PYTHONHASHSEED" not in os.environ:
            del environment["PYTHONHASHSEED"]
        return {
            **environment,
            "TMPDIR": str(self._folder),  # files of a process that is killed go with its folder
            "XLA_PYTHON_CLIENT_PREALLOCATE": "false",  # or the first process takes most of a GPU
        }

    def _error(self, lost: Lost) -> BenchError:
        what = f"{self.turn.contestant}, rows {', '.join(map(str, self.turn.rows))}"
        return BenchError(f"{what}: {lost.ending}\n{lost.log}".rstrip())


def step_in_turns(processes: Sequence[LiveProcess]) -> None:
    """Step processes until all have ended: A B C, B C A, and so on.

    Each is the first as often as the others. The order A B C C B A was the alternative: there the
    first and the last step twice in a row, and find their memory in the caches of the core.

    No process goes on to a row before all have come to it: one that has no part in a row, or fewer
    measurements there, waits for the others.
    """
    places = [process.step() for process in processes]
    while waiting := [place for place in places if place is not None]:
        now = [number for number, place in enumerate(places) if place == min(waiting)]
        for number in now:
            places[number] = processes[number].step()
        processes = [*processes[1:], processes[0]]
        places = [*places[1:], places[0]]
