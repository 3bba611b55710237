"""Row 6: peak host memory of lowering and compiling a program with one large constant."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import jax
import numpy as np

from parity_tests import host_memory
from parity_tests.bench.contestants import bind
from parity_tests.bench.pool import Pool
from parity_tests.bench.row import Row, Size, sampler
from reports.bench_rows import BenchLine, Contestant, Sample, Target
from reports.figures import humanise_bytes

WIDTH: dict[Size, int] = {"quick": 64, "default": 4096, "full": 4096}  # 64 MiB
SMALL = 32
# XLA and MLIR ask for memory in pieces of a MiB or two, and what they ask for first depends on what
# was freed before: the same program shows 0.2 MiB in one process and 2 MiB in the next.
RESOLUTION = 4 * 2**20
PEAK = "peak bytes of trace, lower and compile"
WITHIN = Target(bound="at most", value=1.1)
LESS = Target(bound="below", value=1.0)
_COMPARED: tuple[tuple[Contestant, Contestant, Target | None], ...] = (
    ("simplified", "jax-simplified", WITHIN),
    ("legacy", "jax-legacy", LESS),
    ("simplified", "manual", None),
)
_sample = sampler(6)


def measure(contestant: Contestant, size: Size) -> Iterator[Sample]:
    """Measure the first large program of a process: a second would be given memory of the first.

    A small one goes before it: what XLA loads for the first program of a process is some 40 MiB,
    and in a ratio it would hide the rest. Nothing on a system that does not tell, any but Linux.
    """
    _stage(contestant, SMALL)
    nbytes, peak = _stage(contestant, WIDTH[size])
    if peak is not None:
        yield _sample(f"a constant of {humanise_bytes(nbytes)}", PEAK, "bytes", peak)


def _stage(contestant: Contestant, width: int) -> tuple[int, int | None]:
    # Held until the end: memory that is freed within the stages would hide as much of their peak.
    host = np.random.default_rng(0).random((width, width), np.float32)
    matrix = jax.device_put(host)
    x = jax.device_put(np.ones(width, np.float32))
    # JAX copies while Python goes on, and these bytes would be counted with those of the stages.
    jax.block_until_ready((matrix, x))
    bound = bind(contestant, _product, [matrix], (x,))
    with host_memory.peak() as of_stages:
        bound.jitted.trace(*bound.args).lower().compile()
    return host.nbytes, of_stages.nbytes


def _product(constants: Sequence[Any], x: Any) -> Any:
    [matrix] = constants
    return x @ matrix


def judge(pool: Pool) -> Iterable[BenchLine]:
    """Compare with stock JAX in the same mode, and with the manual way.

    What is less than the resolution is taken to be the resolution: a ratio of two such peaks would
    be one of how the allocator cuts its memory. The note has what was measured.
    """
    resolved = Pool()
    for each in pool.rows():
        if each.row == 6:
            values = (max(value, RESOLUTION) for value in each.values)
            resolved.add(
                each.contestant, [_sample(each.case, each.what, each.unit, v) for v in values]
            )
    for case in pool.cases(6, PEAK):
        for contestant, against, target in _COMPARED:
            line = resolved.ratio(6, case, PEAK, contestant, against, target)
            medians = [np.median(pool.of(6, case, PEAK, each)) for each in (contestant, against)]
            if min(medians) < RESOLUTION:
                own, other = (humanise_bytes(int(each)) for each in medians)
                line = line.model_copy(update={"note": f"measured: {own} against {other}"})
            yield line


ROW = Row(6, "peak host memory", measure, judge, alone=True)
