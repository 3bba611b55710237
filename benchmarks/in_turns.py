"""Calls, first calls and compiling beside stock JAX in turns: rows 1, 2 and 10 without the weather.

    python benchmarks/in_turns.py [PAIRS]

`constparity bench` has one process at a time, so a machine whose speed changes between two of them
is in its ratios. Here a process of ours and one of stock JAX in the same mode live side by side on
one core, one waiting while the other measures: A B B A. Each fresh pair of processes gives one
ratio of medians for each quantity; what is printed is the median of them, a bootstrap interval of
95 %, and the least and the largest.
"""

from __future__ import annotations

import functools
import importlib
import math
import os
import statistics
import subprocess
import sys
from collections.abc import Iterator

import numpy as np

from parity_tests.bench.compile_time import PROGRAMS, compile_program
from parity_tests.bench.contestants import SAME_MODE, bind, forget_programs, side_of
from parity_tests.bench.first_call import chain
from parity_tests.bench.measuring import seconds
from parity_tests.bench.steady_call import CONSTANTS, add_all, argument, constants
from parity_tests.sides import environment_of
from parity_tests.timing import PairedRatio
from reports.bench_rows import Contestant

COUNTS = CONSTANTS["default"]
EQUATIONS = (10, 100)
FIRST_CALLS, COMPILATIONS, BLOCKS = 15, 6, 41
BLOCK_SECONDS = 0.005


def answer(contestant: Contestant) -> None:
    """Measure what the lines of the input ask for, and print the seconds.

    `first N`: trace and lower N equations and at most 10 constants; `compile`: the programs of row
    10; `call N M`: a block of M calls with N const args, for one of them.
    """
    import jax

    if hasattr(os, "sched_setaffinity"):  # one core of a machine may be slower than another
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    if contestant in ("legacy", "simplified"):
        importlib.import_module("engine")
    calls: dict[int, functools.partial] = {}

    def first(count: int) -> float:
        forget_programs(contestant)
        few = constants(min(10, count))
        bound = bind(contestant, chain(count), few, (np.ones(16, np.float32),))
        return seconds(lambda: bound.jitted.trace(*bound.args).lower())

    def compile_all() -> float:
        forget_programs(contestant)
        return math.fsum(compile_program(contestant, name) for name in PROGRAMS["default"])

    def call(count: int, length: int) -> float:
        if count not in calls:
            bound = bind(contestant, add_all, constants(count), (argument(),))
            calls[count] = functools.partial(bound.jitted, *bound.args)
            jax.block_until_ready(calls[count]())
        one = calls[count]
        return seconds(lambda: [jax.block_until_ready(one()) for _ in range(length)]) / length

    for line in sys.stdin:
        what, *numbers = line.split()
        print(
            {"first": first, "compile": compile_all, "call": call}[what](*map(int, numbers)),
            flush=True,
        )


class Process:
    """A live process of a contestant."""

    def __init__(self, contestant: Contestant) -> None:
        self._process = subprocess.Popen(
            [sys.executable, __file__, "--answer", contestant],
            env=environment_of(side_of(contestant)),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def seconds(self, question: str) -> float:
        """Ask for a measurement, and wait for it."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{question}\n")
        self._process.stdin.flush()
        return float(self._process.stdout.readline())

    def close(self) -> None:
        """End the process."""
        self._process.communicate()


def ratios_of(ours: Contestant, stock: Contestant) -> Iterator[tuple[str, float]]:
    """Yield each quantity and its ratio in a fresh pair of processes."""
    processes = [Process(ours), Process(stock)]

    def ratio(question: str, samples: int) -> float:
        taken: tuple[list[float], list[float]] = ([], [])
        for sample in range(samples):
            for which in (0, 1) if sample % 2 == 0 else (1, 0):
                taken[which].append(processes[which].seconds(question))
        return statistics.median(taken[0]) / statistics.median(taken[1])

    for count in EQUATIONS:
        for process in processes:
            process.seconds(f"first {count}")  # it pays for what is loaded late
        yield f"{count} equations: trace and lower", ratio(f"first {count}", FIRST_CALLS)
    for process in processes:
        process.seconds("compile")
    yield "10 programs: compile", ratio("compile", COMPILATIONS)
    for count in COUNTS:
        once = max(process.seconds(f"call {count} 50") for process in processes)
        length = max(1, round(BLOCK_SECONDS / once))
        yield f"{count} const args: a call", ratio(f"call {count} {length}", BLOCKS)
    for process in processes:
        process.close()


def main(pairs: int) -> None:
    """Print a line for each quantity of each mode."""
    for ours, stock in SAME_MODE:
        taken: dict[str, list[float]] = {}
        for _ in range(pairs):
            for quantity, ratio in ratios_of(ours, stock):
                taken.setdefault(quantity, []).append(ratio)
        for quantity, ratios in taken.items():
            found = PairedRatio(np.ones(pairs), np.array(ratios))
            print(
                f"{quantity}: {ours} / {stock}: {found.ratio:.3f}x [{found.low:.3f}, "
                f"{found.high:.3f}], {min(ratios):.3f} to {max(ratios):.3f} in {pairs} pairs",
                flush=True,
            )


if __name__ == "__main__":
    if sys.argv[1:2] == ["--answer"]:
        [own] = [each for pair in SAME_MODE for each in pair if each == sys.argv[2]]
        answer(own)
    else:
        main(int(sys.argv[1]) if len(sys.argv) > 1 else 10)
