"""Row 3: one const arg for each array, and one buffer that all executables share."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from parity_tests.bench.contestants import bind
from parity_tests.bench.pool import Measured, Pool, Row, Size
from parity_tests.bench.rows.steady_call import constants
from parity_tests.observe import device_buffers, optimised_hlo, stablehlo
from reports.rows.bench import BenchLine, Contestant, Target

ELEMENTS: dict[Size, int] = {"quick": 256, "default": 2**18, "full": 2**24}
CONST_ARGS, BYTES, INLINED = (
    "const args",
    "device bytes of constants",
    "bytes of constants in executables",
)
EXECUTABLES = "3 executables, a jax.Array and a NumPy array"
ONE = Target(bound="exactly", value=1)


def measure(contestant: Contestant, size: Size) -> Iterator[Measured]:
    """Count const args of programs that use one array often, and buffers of three executables."""
    x = np.ones(16, np.float32)
    [table] = constants(1)
    for case, fun in _USES.items():
        bound = bind(contestant, fun, [table], (x,))
        module = stablehlo.count(bound.jitted.lower(*bound.args).compiler_ir(), embed_threshold=32)
        yield case, CONST_ARGS, "count", module.const_args
    yield from _buffers(contestant, ELEMENTS[size])


def _buffers(contestant: Contestant, elements: int) -> Iterator[Measured]:
    before = device_buffers.alive()
    random = np.random.default_rng(0)
    arrays = [jax.device_put(random.random(elements, np.float32)), unaligned(random, elements)]
    x = np.ones(elements, np.float32)
    inlined = 0
    kept = []  # the buffers of an executable live as long as its function
    for number in range(3):

        def fun(captured: Sequence[Any], x: Any, number: int = number) -> Any:
            first, second = captured
            return jnp.sum((x * first + second) * (number + 1))

        bound = bind(contestant, fun, arrays, (x,))
        result = jax.block_until_ready(bound())
        inlined += optimised_hlo.count(bound.jitted.lower(*bound.args).compile()).constant_bytes
        kept.append((bound, result))
    results = [result for _, result in kept]
    due = device_buffers.due_to_constants(before, results, arrays)
    yield EXECUTABLES, BYTES, "bytes", due
    yield EXECUTABLES, INLINED, "bytes", inlined
    yield EXECUTABLES, "bytes of the unique arrays", "bytes", 2 * 4 * elements


def unaligned(random: np.random.Generator, elements: int) -> np.ndarray:
    """Make a NumPy array that is not aligned, so that a CPU device has to copy it."""
    memory = np.empty(4 * elements + 64 + 4, np.uint8)
    start = -memory.ctypes.data % 64 + 4
    array = memory[start : start + 4 * elements].view(np.float32)
    array[...] = random.random(elements, np.float32)
    return array


def _used_twice(captured: Sequence[Any], x: Any) -> Any:
    [table] = captured
    return (x + table) * table


def _used_in_bodies(captured: Sequence[Any], x: Any) -> Any:
    [table] = captured
    inner = jax.jit(lambda x: x * table)
    x, _ = lax.scan(lambda carry, _: (carry + table, None), inner(x), None, length=3)
    return lax.cond(x[0] > 0, lambda x: x - table, lambda x: x, x) + table


def _used_and_returned(captured: Sequence[Any], x: Any) -> Any:
    [table] = captured
    return x @ table, jnp.sin(table) + x, table


_USES = {
    "1 array in 2 equations": _used_twice,
    "1 array in jit, scan, cond and beside": _used_in_bodies,
    "1 array in 2 equations, and returned": _used_and_returned,
}


def judge(pool: Pool) -> Iterable[BenchLine]:
    """Hold const args to the number of arrays, and buffers to the bytes of the arrays."""
    for case in _USES:
        of_stock = pool.of(case, CONST_ARGS, "jax-simplified").max()
        note = f"jax-simplified: {of_stock:g}"
        yield pool.count(case, CONST_ARGS, "simplified", ONE, note)
    unique = pool.of(EXECUTABLES, "bytes of the unique arrays", "simplified").max()
    exactly = Target(bound="exactly", value=float(unique))
    nothing = Target(bound="exactly", value=0)
    yield pool.count(EXECUTABLES, BYTES, "simplified", exactly)
    yield pool.count(EXECUTABLES, INLINED, "simplified", nothing)
    others: tuple[Contestant, ...] = ("jax-simplified", "legacy", "jax-legacy")
    for other in others:
        yield pool.count(EXECUTABLES, BYTES, other)
        yield pool.count(EXECUTABLES, INLINED, other)


ROW = Row(3, "one const arg and one buffer for each array", measure, judge)
