"""Row 4: equal arrays that are not identical, with `deduplicate_constants` and without."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from parity_tests.bench.contestants import jit
from parity_tests.bench.measuring import seconds
from parity_tests.bench.pool import Measured, Pool, Row, Size
from parity_tests.bench.rows.one_buffer import unaligned
from parity_tests.observe import device_buffers
from reports.rows.bench import BenchLine, Contestant, Target

ELEMENTS: dict[Size, int] = {"quick": 256, "default": 2**20, "full": 2**24}
SHARED, APART = "4 equal NumPy arrays, shared by value", "4 equal NumPy arrays, each its own"
CONST_ARGS, BYTES = "const args", "device bytes of constants"
STAGES, UNIQUE = "seconds to trace and lower", "bytes of one array"
SAMPLES: dict[Size, int] = {"quick": 1, "default": 5, "full": 5}
_COPIES = 4
ONE = Target(bound="exactly", value=1)


def measure(contestant: Contestant, size: Size) -> Iterator[Measured]:
    """Run a program of equal arrays; `simplified` alone can share them by value."""
    if contestant not in ("simplified", "jax-simplified"):
        return
    elements = ELEMENTS[size]
    cases: dict[str, dict[str, Any]] = {APART: {}}
    if contestant == "simplified":
        # Arrays up to this size are compared by value: all of them.
        cases[SHARED] = {"deduplicate_constants": 4 * elements}
    taken: dict[str, list[float]] = {case: [] for case in cases}
    for number in range(SAMPLES[size] + 1):
        for case in reversed(cases) if number % 2 else cases:
            before = device_buffers.alive()
            program = _Program.of(contestant, elements, **cases[case])
            taken[case].append(program.seconds)
            if number == 0:
                yield from program.counts(case, before)
    for case, of_case in taken.items():  # the first sample pays for libraries that load late
        yield case, STAGES, "seconds", statistics.median(of_case[1:])
    yield APART, UNIQUE, "bytes", 4 * elements


@dataclass(frozen=True)
class _Program:
    """A lowered program of equal arrays, and the seconds that tracing and lowering took."""

    jitted: Any
    arrays: list[np.ndarray]
    x: np.ndarray
    lowered: Any
    seconds: float

    @classmethod
    def of(cls, contestant: Contestant, elements: int, **options: Any) -> _Program:
        arrays = [unaligned(np.random.default_rng(0), elements) for _ in range(_COPIES)]
        jitted = jit(contestant, _sum_with(arrays), **options)
        x = np.ones(elements, np.float32)
        lowered: list[Any] = []
        taken = seconds(lambda: lowered.append(jitted.trace(x).lower()))
        return cls(jitted, arrays, x, lowered[0], taken)

    def counts(self, case: str, before: device_buffers.Arrays) -> Iterator[Measured]:
        """Call the program, and count the bytes that it newly holds."""
        result = jax.block_until_ready(self.jitted(self.x))
        due = device_buffers.due_to_constants(before, [result], self.arrays)
        yield case, BYTES, "bytes", due
        # Stock JAX has no public count of const args; both sides mark them in the module.
        yield case, CONST_ARGS, "count", self.lowered.as_text().count("jax.const")


def _sum_with(arrays: list[np.ndarray]) -> Callable[[Any], Any]:
    def fun(x: Any) -> Any:
        for each in arrays:
            x = x * 2 + each
        return x

    return fun


def judge(pool: Pool) -> Iterable[BenchLine]:
    """Hold shared arrays to one array; the time that sharing costs has no target."""
    bytes_of_one = pool.of(APART, UNIQUE, "simplified").max()
    exactly = Target(bound="exactly", value=float(bytes_of_one))
    apart = pool.of(APART, CONST_ARGS, "simplified").max()
    yield pool.count(SHARED, CONST_ARGS, "simplified", ONE, f"without: {apart:g}")
    yield pool.count(SHARED, BYTES, "simplified", exactly)
    yield pool.count(APART, BYTES, "simplified")
    yield pool.between((APART, SHARED), STAGES, "simplified")


ROW = Row(4, "sharing by value", measure, judge)
