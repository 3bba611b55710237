"""Row 6: peak host memory of lowering and compiling a program with one large constant."""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import jax
import numpy as np

from parity_tests.bench.contestants import bind
from parity_tests.bench.pool import Measured, Pool, Row, Size
from parity_tests.observe import memory
from reports.rows.bench import BenchLine, Contestant, Target
from reports.views.figures import humanise_bytes

WIDTH: dict[Size, int] = {"quick": 64, "default": 4096, "full": 4096}  # 64 MiB
SMALL = 32
PEAK = "peak bytes of trace, lower and compile"
WITHIN = Target(bound="at most", value=1.1)
LESS = Target(bound="below", value=1.0)


def measure(contestant: Contestant, size: Size) -> Iterator[Measured]:
    """Measure the first large program of a process: a second would reuse memory of the first.

    A small program goes before it: XLA loads some 40 MiB for the first program of a process, and in
    a ratio they would hide the rest. Yields nothing but on Linux, which alone reports peaks.
    """
    _stage(contestant, SMALL)
    nbytes, peak = _stage(contestant, WIDTH[size])
    if peak is not None:
        yield f"a constant of {humanise_bytes(nbytes)}", PEAK, "bytes", peak


def _stage(contestant: Contestant, width: int) -> tuple[int, int | None]:
    # Held until the end: memory that is freed within the stages would hide part of their peak.
    host = np.random.default_rng(0).random((width, width), np.float32)
    matrix = jax.device_put(host)
    x = jax.device_put(np.ones(width, np.float32))
    # JAX copies while Python goes on, and the copies would count as memory of the stages.
    jax.block_until_ready((matrix, x))
    bound = bind(contestant, _product, [matrix], (x,))
    gc.collect()
    with memory.peak() as of_stages:
        bound.jitted.trace(*bound.args).lower().compile()
    return host.nbytes, of_stages.nbytes


def _product(constants: Sequence[Any], x: Any) -> Any:
    [matrix] = constants
    return x @ matrix


def judge(pool: Pool) -> Iterable[BenchLine]:
    """Compare with stock JAX in the same mode, and with the manual way."""
    for case in pool.cases(PEAK):
        yield _line(pool, case, "simplified", "jax-simplified", WITHIN)
        yield _line(pool, case, "legacy", "jax-legacy", LESS)
        yield _line(pool, case, "simplified", "manual", None)


def _line(
    pool: Pool, case: str, contestant: Contestant, against: Contestant, target: Target | None
) -> BenchLine:
    """Compare two peaks; a peak of zero bytes has no ratio and meets no target."""
    if min(pool.of(case, PEAK, each).min() for each in (contestant, against)) > 0:
        return pool.ratio(case, PEAK, contestant, against, target)
    other = humanise_bytes(int(pool.of(case, PEAK, against).max()))
    note = f"{against}: {other}; a peak within what was resident before has no ratio"
    return pool.count(case, PEAK, contestant, note=note)


ROW = Row(6, "peak host memory", measure, judge, process="alone")
