"""Row 10: how long programs of the corpus compile."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Iterator, Sequence

from parity_tests import targets
from parity_tests.bench.contestants import SAME_MODE, forget_programs, jit
from parity_tests.bench.measuring import seconds
from parity_tests.bench.pool import Measured, Pool, Row, Size
from reports.rows.bench import BenchLine, Contestant, Target

_ALL = (
    "plain_jax:mlp_frozen_weights",
    "plain_jax:attention_with_captured_projections",
    "plain_jax:image_convolution_filters",
    "plain_jax:interpolation_table",
    "plain_jax:conjugate_gradient",
    "control_flow:recurrent_network",
    "control_flow:scan_cond_and_jit_share",
    "derivatives:per_example_gradients",
    "derivatives:checkpointed_layers",
    "functions_in_functions:nested_jits_share",
)
_BEFORE = "plain_jax:embedding_lookup"
PROGRAMS: dict[Size, Sequence[str]] = {"quick": _ALL[-2:], "default": _ALL, "full": _ALL}
SAMPLES: dict[Size, int] = {"quick": 1, "default": 3, "full": 3}
COMPILE = "seconds to compile"
WITHIN = Target(bound="at most", value=1.05)


def measure(contestant: Contestant, size: Size) -> Iterator[Measured]:
    """Compile each program, after another one that pays for libraries that are loaded late.

    The manual way does not take part: the programs of the corpus capture their arrays.
    """
    if contestant == "manual":
        return
    compile_program(contestant, _BEFORE)
    taken = {
        name: statistics.median(compile_program(contestant, name) for _ in range(SAMPLES[size]))
        for name in PROGRAMS[size]
    }
    for name, each in taken.items():
        yield name.partition(":")[2], COMPILE, "seconds", each
    yield f"{len(taken)} programs together", COMPILE, "seconds", math.fsum(taken.values())


def compile_program(contestant: Contestant, name: str) -> float:
    """Return the seconds to compile a program of the corpus that is in no cache of ours."""
    forget_programs(contestant)
    fun, args, kwargs = targets.load_one(f"{targets.CORPUS}.{name}").build()
    return seconds(jit(contestant, fun).lower(*args, **kwargs).compile)


def judge(pool: Pool) -> Iterable[BenchLine]:
    """Compare the sum with stock JAX in the same mode; the samples have the single programs."""
    *_, together = pool.cases(COMPILE)
    for ours, stock in SAME_MODE:
        yield pool.ratio(together, COMPILE, ours, stock, WITHIN)


ROW = Row(10, "compile time", measure, judge, process="alone")
