"""How programs are run: the one record of options that goes from the command line to a process."""

from __future__ import annotations

from parity_tests.processes.protocol import Record
from reports.rows import Side

TIMEOUT = 120.0
STEADY_CALLS = 20


class RunOptions(Record):
    """How each program is run on each side.

    `timeout` is in seconds for one program on one side, and `memory_limit` in bytes of resident
    memory for its process; a program that exceeds one of them has failed on that side. Each is
    called `steady_calls` times to time it. With `fresh` each has a process of its own, without
    which the peak of host memory depends on the programs before. With `reload` each is also
    exported and read back, and reloaded from a persistent cache. Hazards are properties of a
    program, so one side detects them: `hazards_on`.
    """

    timeout: float = TIMEOUT
    memory_limit: int | None = None
    steady_calls: int = STEADY_CALLS
    fresh: bool = False
    reload: bool = False
    hazards_on: Side | None = None
