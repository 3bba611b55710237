"""Row 11: the memory of a process that has compiled many programs, and keeps them."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from parity_tests.bench.contestants import SAME_MODE, jit
from parity_tests.bench.measuring import seconds
from parity_tests.bench.pool import Measured, Pool, Row, Size
from parity_tests.observe import memory
from reports.rows.bench import BenchLine, Contestant, Target

PROGRAMS: dict[Size, int] = {"quick": 10, "default": 250, "full": 1000}
RESIDENT = "resident bytes of the process"
WITHIN = Target(bound="at most", value=1.05)


def measure(contestant: Contestant, size: Size) -> Iterator[Measured]:
    """Compile and keep programs of two captured arrays each.

    Yields nothing for the manual way, and where the system does not tell.
    """
    if contestant == "manual":
        return
    x = jnp.ones(8)
    kept: list[Any] = []

    def compile_another() -> None:
        kept.append(jit(contestant, _program(len(kept))))
        jax.block_until_ready(kept[-1](x))

    while len(kept) < PROGRAMS[size]:
        seconds(compile_another)
    gc.collect()
    if resident := memory.resident():
        yield f"{len(kept):,} programs", RESIDENT, "bytes", resident


def _program(number: int) -> Callable[[Any], Any]:
    weights, table = jnp.full((8, 8), float(number)), np.full(300, number, np.float32)
    return lambda x: jnp.tanh(x @ weights + number).sum() + table.sum() * x[0]


def judge(pool: Pool) -> Iterable[BenchLine]:
    """Compare with stock JAX in the same mode."""
    for case in pool.cases(RESIDENT):
        for ours, stock in SAME_MODE:
            yield pool.ratio(case, RESIDENT, ours, stock, WITHIN)


ROW = Row(11, "memory of many programs", measure, judge, process="alone")
