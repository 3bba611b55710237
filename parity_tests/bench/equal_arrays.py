"""Row 4: equal arrays with different identity, with `deduplicate_constants` and without."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import jax
import numpy as np

from parity_tests import device_buffers
from parity_tests.bench.contestants import jit
from parity_tests.bench.measuring import seconds
from parity_tests.bench.one_buffer import unaligned
from parity_tests.bench.pool import Pool
from parity_tests.bench.row import Row, Size, sampler
from reports.bench_rows import BenchLine, Contestant, Sample, Target

ELEMENTS: dict[Size, int] = {"quick": 256, "default": 2**20, "full": 2**24}
SHARED, APART = "4 equal NumPy arrays, shared by value", "4 equal NumPy arrays, each its own"
CONST_ARGS, BYTES = "const args", "device bytes of constants"
STAGES = "seconds to trace and lower"
_COPIES = 4
ONE = Target(bound="exactly", value=1)
_sample = sampler(4)


def measure(contestant: Contestant, size: Size) -> Iterator[Sample]:
    """Run a program of equal arrays; `simplified` alone can share them by value."""
    elements = ELEMENTS[size]
    if contestant not in ("simplified", "jax-simplified"):
        return
    list(_program(contestant, APART, 64))  # what the first program loads is no case's
    yield from _program(contestant, APART, elements)
    if contestant == "simplified":
        # Compared are arrays up to this size: all of them.
        yield from _program(contestant, SHARED, elements, deduplicate_constants=4 * elements)


def _program(contestant: Contestant, case: str, elements: int, **options: Any) -> Iterator[Sample]:
    arrays = [unaligned(np.random.default_rng(0), elements) for _ in range(_COPIES)]
    fun = _sum_with(arrays)
    x = np.ones(elements, np.float32)
    before = device_buffers.alive()
    jitted = jit(contestant, fun, **options)
    lowered: list[Any] = []
    taken = seconds(lambda: lowered.append(jitted.trace(x).lower()))
    yield _sample(case, STAGES, "seconds", taken)
    result = jax.block_until_ready(jitted(x))
    yield _sample(case, BYTES, "bytes", device_buffers.due_to_constants(before, [result], arrays))
    # Stock JAX has no public count of them; both mark them in the module.
    yield _sample(case, CONST_ARGS, "count", lowered[0].as_text().count("jax.const"))


def _sum_with(arrays: list[np.ndarray]) -> Callable[[Any], Any]:
    def fun(x: Any) -> Any:
        for each in arrays:
            x = x * 2 + each
        return x

    return fun


def judge(pool: Pool) -> Iterable[BenchLine]:
    """Hold what is shared to one array, and show what it costs; it has no target."""
    bytes_of_one = pool.of(4, APART, BYTES, "simplified").max() / _COPIES
    exactly = Target(bound="exactly", value=float(bytes_of_one))
    apart = pool.of(4, APART, CONST_ARGS, "simplified").max()
    yield pool.count(4, SHARED, CONST_ARGS, "simplified", ONE, f"without: {apart:g}")
    yield pool.count(4, SHARED, BYTES, "simplified", exactly)
    yield pool.count(4, APART, BYTES, "simplified")
    yield pool.between(4, (APART, SHARED), STAGES, "simplified")


ROW = Row(4, "sharing by value", measure, judge)
