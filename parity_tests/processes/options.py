"""How programs are run: the options from the command line, and the limits of one process."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from parity_tests.processes.protocol import Measuring
from reports.rows import Side

TIMEOUT = 120.0
STEADY_CALLS = 20
ATTRIBUTION_TIMEOUT = 60.0  # seconds for all runs of one program


@dataclass(frozen=True)
class Limits:
    """What a process may take: seconds for one program, beside its start, and bytes of memory.

    `python` is the interpreter that it runs in; None is the one that asks.
    """

    timeout: float
    memory: int | None = None
    python: Path | None = None


class RunOptions(Measuring):
    """How each program is run on each side.

    `timeout` is in seconds for one program on one side, and `memory_limit` in bytes of resident
    memory for its process; a program that exceeds one of them has failed on that side. With `fresh`
    each has a process of its own, without which the peak of host memory depends on the programs
    before. Hazards are properties of a program, so one side detects them: `hazards_on`. At most
    `processes` run at once; None means `worker_process.PROCESSES`, one of a side at a time. With
    more processes than sides, the programs of a side are divided among several. `python` is the
    interpreter that they run in; None is the one that asks.
    """

    timeout: float = TIMEOUT
    memory_limit: int | None = None
    steady_calls: int = STEADY_CALLS
    fresh: bool = False
    hazards_on: Side | None = None
    processes: int | None = None
    python: Path | None = None

    def once_more(self, **otherwise: Any) -> RunOptions:
        """Return how programs run another time: within the same limits, in the same interpreter.

        The flag flips as it did. Hazards are not detected again, and `reload` is over. Fields of
        `otherwise` are others.

        Example::

            options.once_more(fresh=True).python == options.python
        """
        kept = ("timeout", "memory_limit", "python", "flips")
        return RunOptions(**{**{name: getattr(self, name) for name in kept}, **otherwise})

    @property
    def limits(self) -> Limits:
        """The limits of a process that measures programs."""
        return Limits(self.timeout, self.memory_limit, self.python)

    @property
    def time_limit(self) -> Limits:
        """The limits of a process that measures none: its memory is not limited."""
        return Limits(self.timeout, python=self.python)
