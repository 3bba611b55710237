"""What the tester itself costs: a correctness-only run of the built-in corpus beside its sides.

    python parity_tests/bench/scripts/own_cost.py [TURNS]

Each turn takes each side alone, in a process that builds, traces, lowers, compiles and calls every
program once and does nothing else, and then `constparity run --no-times --no-attribution`. It
prints the ratio of the processor time of the run to the sum of that of the sides, for each turn,
and the same of elapsed time, where the run takes two sides at once.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import time
from typing import NamedTuple

from parity_tests.processes.side_environment import environment_of
from reports.rows import SIDES, Side

RUN = ("-m", "parity_tests.cli", "run", "--no-times", "--no-attribution", "--exit-zero")


class Cost(NamedTuple):
    """Seconds of the processors, and by the clock."""

    processor: float
    clock: float


def run_alone(side: Side) -> None:
    """Take every program of the corpus through a side; what the process of a bare side does."""
    import jax

    from parity_tests import targets
    from parity_tests.observe.jit_on_side import jitted_on

    for program in targets.load(()):
        if isinstance(program, targets.Unavailable):
            continue
        fun, args, kwargs = program.build()
        compiled = jitted_on(fun, side).trace(*args, **kwargs).lower().compile()
        jax.block_until_ready(compiled(*args, **kwargs))


def cost_of(command: tuple[str, ...], environment: dict[str, str]) -> Cost:
    """Run a command with this Python and return what it and its processes took."""
    before, start = _children(), time.perf_counter()
    subprocess.run(
        [sys.executable, *command], env=environment, check=True, stdout=subprocess.DEVNULL
    )
    return Cost(_children() - before, time.perf_counter() - start)


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> None:
    """Print the costs of each turn."""
    for _ in range(int(sys.argv[1]) if len(sys.argv) > 1 else 2):
        alone = [cost_of((__file__, "--side", side), environment_of(side)) for side in SIDES]
        together = cost_of(RUN, dict(os.environ))
        print(
            "the run takes "
            f"{together.processor / sum(each.processor for each in alone):.2f}x the processor time "
            f"of its sides, and {together.clock / sum(each.clock for each in alone):.2f}x by the "
            "clock",
            flush=True,
        )


if __name__ == "__main__":
    if sys.argv[1:2] == ["--side"]:
        [own] = [side for side in SIDES if side == sys.argv[2]]
        run_alone(own)
    else:
        main()
