"""The cost of the tester itself: a run of the built-in corpus against its bare sides.

    python tests/scripts/own_cost.py [TURNS]

Each turn first runs each side alone, in a process that builds, traces, lowers, compiles and calls
every program once and does nothing else. Then it runs `constparity run --no-times
--no-attribution`. It prints the ratio of that run to the sum of the sides, in processor time and in
elapsed time; the run has two sides at work at once.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import time
from typing import NamedTuple

from parity_tests.processes.side_environment import environment_of, with_our_packages
from reports.rows import SIDES, Side

RUN = ("-m", "parity_tests.cli", "run", "--no-times", "--no-attribution", "--exit-zero")


class Cost(NamedTuple):
    """Seconds of processor time, and seconds by the clock."""

    processor: float
    clock: float


def run_alone(side: Side) -> None:
    """Compile and call every program of the corpus on a side: the whole process of a bare side."""
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
    """Run a command with this Python, and return the cost of it and of its processes."""
    before, start = _children(), time.perf_counter()
    subprocess.run(
        [sys.executable, *command], env=environment, check=True, stdout=subprocess.DEVNULL
    )
    return Cost(_children() - before, time.perf_counter() - start)


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> None:
    """Print the ratios of each turn."""
    for _ in range(int(sys.argv[1]) if len(sys.argv) > 1 else 2):
        alone = [
            cost_of((__file__, "--side", side), with_our_packages(environment_of(side)))
            for side in SIDES
        ]
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
