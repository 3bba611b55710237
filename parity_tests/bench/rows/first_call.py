"""Row 2: the time to trace and lower, by the number of equations and of constants.

To trace alone stands beside it: JAX itself takes longer for a captured array than for an argument,
and what it takes more is out of the engine's reach.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from parity_tests.bench.contestants import SAME_MODE, bind, forget_programs
from parity_tests.bench.measuring import seconds
from parity_tests.bench.pool import Measured, Pool, Row, Size
from parity_tests.bench.rows.steady_call import constants
from reports.rows.bench import BenchLine, Contestant, Target

EQUATIONS: dict[Size, Sequence[int]] = {
    "quick": (10, 40),
    "default": (10, 100, 1_000),
    "full": (10, 100, 1_000, 10_000),
}
MOST_CONSTANTS = 1_000  # no real program has 10,000 arrays
# Samples of a process: FEW of slow programs, MANY of fast ones. Python's full garbage collection,
# as long as tracing 1,000 equations, falls into one or two of five samples: nine are FEW.
FEW, MANY = 9, 60
SHARED = 10  # constants of the programs that grow in equations alone
STAGES = "seconds to trace and lower"
TRACE = "seconds to trace"
WITHIN = Target(bound="at most", value=1.1)
CLOSER = Target(bound="at most", value=1.05)
LINEAR = Target(bound="at most", value=1.1)
_AS_MANY = "as many constants"


def measure(contestant: Contestant, size: Size) -> Iterator[Measured]:
    """Trace and lower programs that JAX has not seen before."""
    for count in EQUATIONS[size]:
        yield from _taken(contestant, _equations(count), count, min(SHARED, count))
    for count in EQUATIONS[size]:
        if count <= MOST_CONSTANTS:
            yield from _taken(contestant, _constants(count), count, count)


def _equations(count: int) -> str:
    return f"{count:,} equations"


def _constants(count: int) -> str:
    return f"{count:,} equations, {_AS_MANY}"


def _taken(contestant: Contestant, case: str, equations: int, count: int) -> Iterator[Measured]:
    arrays, x = constants(count), np.ones(16, np.float32)
    taken, to_trace = [], []

    def stage() -> None:
        # JAX caches traces by function, so each sample traces a new function.
        bound = bind(contestant, chain(equations), arrays, (x,))
        start = time.perf_counter()
        traced = bound.jitted.trace(*bound.args)
        to_trace.append(time.perf_counter() - start)
        traced.lower()

    def stage_another() -> None:
        forget_programs(contestant)
        stage()
        forget_programs(contestant)

    for _ in range(max(FEW, min(MANY, 1_500 // equations))):
        taken.append(seconds(stage, after=stage_another))
    yield case, STAGES, "seconds", statistics.median(taken)
    timed = to_trace[1::2]  # before each stage there is one that is not timed
    yield case, TRACE, "seconds", statistics.median(timed)


def chain(equations: int) -> Callable[..., Any]:
    """Return a function of this many equations; its constants take turns as operands."""

    def program(constants: Sequence[Any], x: Any) -> Any:
        for number in range(equations):
            x = x + constants[number % len(constants)]
        return x

    return program


def judge(pool: Pool) -> Iterable[BenchLine]:
    """Compare with stock JAX in the same mode, and find how the time grows at the largest sizes."""
    cases = pool.cases(STAGES)
    for case in cases:
        for ours, stock in SAME_MODE:
            yield pool.ratio(case, STAGES, ours, stock, WITHIN)
        closer = CLOSER if case.endswith(_AS_MANY) else WITHIN
        yield pool.ratio(case, STAGES, "simplified", "manual", closer)
        for each in ("simplified", "jax-simplified"):
            yield pool.ratio(case, TRACE, each, "manual")
    sizes = sorted({size for of_size in EQUATIONS.values() for size in of_size})
    for name, of in (("equations", _equations), ("constants", _constants)):
        measured = [(of(size), size) for size in sizes if of(size) in cases]
        [*_, small, large] = measured
        case = f"growth in {name}, {small[1]:,} to {large[1]:,}"
        for ours, stock in SAME_MODE:
            yield pool.growth((small, large), case, STAGES, ours, LINEAR)
            yield pool.growth((small, large), case, STAGES, stock)


ROW = Row(2, "first call: trace and lower", measure, judge)
