"""Row 7: the constant preamble, on a program that gains by it."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from parity_tests.bench.contestants import bind
from parity_tests.bench.measuring import seconds, seconds_per_call
from parity_tests.bench.pool import Pool, Row, Size, sampler
from reports.rows.bench import BenchLine, Contestant, Sample, Target

# XLA folds in jax-legacy: for 290 s with 1,024 columns (4 MiB), and for seconds with 256.
COLUMNS: dict[Size, int] = {"quick": 112, "default": 256, "full": 1024}
FEWEST = 96  # columns that are work enough for a preamble
BLOCKS: dict[Size, int] = {"quick": 2, "default": 9, "full": 9}
BLOCK_SECONDS = 0.02
COMPILE, CALL = "seconds to lower and compile", "seconds of a call"
COMPILES_WITHIN = Target(bound="at most", value=1.5)
RUNS_WITHIN = Target(bound="at most", value=1.2)
_sample = sampler(7)


def measure(contestant: Contestant, size: Size) -> Iterator[Sample]:
    """Compile and call the program of the preamble; `simplified` does so with `"auto"`."""
    if contestant not in ("simplified", "jax-legacy", "jax-simplified"):
        return
    # A small program goes first and loads the kernels, the preamble's too: no side pays for them.
    for columns in (FEWEST, COLUMNS[size]):
        captured, args = _program(columns)
        bound = bind(contestant, _fold, [captured], args, **options(contestant, "auto"))
        compiled: list[Any] = []
        taken = seconds(lambda: compiled.append(bound.jitted.lower(*bound.args).compile()))  # noqa: B023
        call = functools.partial(compiled[0], *args)
        jax.block_until_ready(call())
    case = f"cumsum, sort, c.T @ c: {COLUMNS[size]:,} columns"
    yield _sample(case, COMPILE, "seconds", taken)
    called = seconds_per_call(call, blocks=BLOCKS[size], block_seconds=BLOCK_SECONDS)
    yield _sample(case, CALL, "seconds", called)


def _program(columns: int) -> tuple[jax.Array, tuple[Any, ...]]:
    values = np.random.default_rng(0).standard_normal((columns, columns), np.float32)
    return jax.device_put(values), (jax.device_put(np.ones((1, columns), np.float32)),)


def _fold(constants: Sequence[Any], x: Any) -> Any:
    [captured] = constants
    c = jnp.sort(jnp.cumsum(captured, axis=0), axis=1)
    return x @ (c.T @ c)


def options(contestant: Contestant, precompute: str) -> dict[str, Any]:
    """Return the options of a jit: `simplified` alone has a preamble."""
    return {"precompute_constants": precompute} if contestant == "simplified" else {}


def judge(pool: Pool) -> Iterable[BenchLine]:
    """Compare compiling with the mode that folds nothing, and calling with the one that folds."""
    for case in pool.cases(7, COMPILE):
        yield pool.ratio(7, case, COMPILE, "simplified", "jax-simplified", COMPILES_WITHIN)
        yield pool.ratio(7, case, COMPILE, "simplified", "jax-legacy")
        yield pool.ratio(7, case, CALL, "simplified", "jax-legacy", RUNS_WITHIN)
        yield pool.ratio(7, case, CALL, "simplified", "jax-simplified")


ROW = Row(7, "the constant preamble", measure, judge)
