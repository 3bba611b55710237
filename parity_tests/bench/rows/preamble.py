"""Rows 7 and 8: the constant preamble, where it is worth it and where it is not."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from parity_tests import targets
from parity_tests.bench.contestants import bind, jit
from parity_tests.bench.measuring import seconds, seconds_in_turns, seconds_per_call
from parity_tests.bench.pool import Pool
from parity_tests.bench.row import Row, Size, sampler
from parity_tests.bench.rows.compile_time import PROGRAMS
from parity_tests.observe import device_buffers
from reports.rows.bench import BenchLine, Contestant, Sample, Target

# jax-legacy folds for 290 s with 1,024 columns (4 MiB), and for seconds with 256.
COLUMNS: dict[Size, int] = {"quick": 112, "default": 256, "full": 1024}
FEWEST = 96  # columns with which there is work enough for a preamble
BLOCKS: dict[Size, int] = {"quick": 2, "default": 9, "full": 9}
BLOCK_SECONDS = 0.02
COMPILE, CALL = "seconds to lower and compile", "seconds of a call"
COMPILES_WITHIN = Target(bound="at most", value=1.5)
RUNS_WITHIN = Target(bound="at most", value=1.2)
_sample_worth = sampler(7)
_sample_judgement = sampler(8)

OFF, AUTO = "programs of the corpus, off", "programs of the corpus, auto"
CHANGED = "programs that are changed"
EXTRA = "bytes of device buffers beyond those of off"
# Sorts of outer products: what is left out as too large, and what just is not.
GROWS = {
    "sort of an outer product, 4.0 MiB of 4.0 KiB": 1024,
    "sort of an outer product, 1.0 MiB of 2.0 KiB": 512,
}
# Work on constants that is hardly worth a preamble, or is not where it looks as if it were.
EDGES = ("picks of a product", "logarithm of a prior")
PICKS, PRODUCT, PRIOR = 500, 96, 512
NOT_SLOWER = Target(bound="at most", value=1.05)
NOTHING = Target(bound="exactly", value=0)


def measure(contestant: Contestant, size: Size) -> Iterator[Sample]:
    """Compile and call the program of the preamble; `simplified` does so with `"auto"`."""
    if contestant not in ("simplified", "jax-legacy", "jax-simplified"):
        return
    # What is loaded with the first program is no side's: the kernels of the preamble too.
    for columns in (FEWEST, COLUMNS[size]):
        captured, args = _program(columns)
        bound = bind(contestant, _fold, [captured], args, **_options(contestant, "auto"))
        compiled: list[Any] = []
        taken = seconds(lambda: compiled.append(bound.jitted.lower(*bound.args).compile()))  # noqa: B023
        call = functools.partial(compiled[0], *args)
        jax.block_until_ready(call())
    case = f"cumsum, sort, c.T @ c: {COLUMNS[size]:,} columns"
    yield _sample_worth(case, COMPILE, "seconds", taken)
    called = seconds_per_call(call, blocks=BLOCKS[size], block_seconds=BLOCK_SECONDS)
    yield _sample_worth(case, CALL, "seconds", called)


def _program(columns: int) -> tuple[jax.Array, tuple[Any, ...]]:
    values = np.random.default_rng(0).standard_normal((columns, columns), np.float32)
    return jax.device_put(values), (jax.device_put(np.ones((1, columns), np.float32)),)


def _fold(constants: Sequence[Any], x: Any) -> Any:
    [captured] = constants
    c = jnp.sort(jnp.cumsum(captured, axis=0), axis=1)
    return x @ (c.T @ c)


def _options(contestant: Contestant, precompute: str) -> dict[str, Any]:
    return {"precompute_constants": precompute} if contestant == "simplified" else {}


def judge(pool: Pool) -> Iterable[BenchLine]:
    """Compare compiling with the mode that folds nothing, and calling with the one that folds."""
    for case in pool.cases(7, COMPILE):
        yield pool.ratio(7, case, COMPILE, "simplified", "jax-simplified", COMPILES_WITHIN)
        yield pool.ratio(7, case, COMPILE, "simplified", "jax-legacy")
        yield pool.ratio(7, case, CALL, "simplified", "jax-legacy", RUNS_WITHIN)
        yield pool.ratio(7, case, CALL, "simplified", "jax-simplified")


def measure_judgement(contestant: Contestant, size: Size) -> Iterator[Sample]:
    """Run programs of the corpus with `"off"` and `"auto"`, which are the same ones where it holds.

    And programs at the edge of what is worth it, and the bytes that results take beyond those of
    what they replace, where a preamble is.
    """
    if contestant != "simplified":
        return
    changed, seconds_of = 0, np.zeros(2)
    for name in PROGRAMS[size]:
        fun, args, kwargs = targets.load_one(f"{targets.CORPUS}.{name}").build()
        jitted = [jit(contestant, fun, **_options(contestant, p)) for p in ("off", "auto")]
        off, auto = (each.lower(*args, **kwargs).as_text() for each in jitted)
        changed += off != auto
        calls: list[Any] = [functools.partial(each, *args, **kwargs) for each in jitted]
        seconds_of += _called_in_turns(calls, size, BLOCK_SECONDS / 4)
    for case, taken in zip((OFF, AUTO), seconds_of.tolist(), strict=True):
        yield _sample_judgement(case, CALL, "seconds", taken)
    yield _sample_judgement(AUTO, CHANGED, "count", changed)
    programs = ((_pick, (PRODUCT, PRODUCT), 16), (_add_prior, (1,), (PRIOR, PRIOR)))
    for case, (fun, shape, of_argument) in zip(EDGES, programs, strict=True):
        captured = jax.device_put(np.random.default_rng(0).random(shape, np.float32))
        x = jax.device_put(np.ones(of_argument, np.float32))
        calls = [
            bind(contestant, fun, [captured], (x,), **_options(contestant, p))
            for p in ("off", "auto")
        ]
        for p, taken in zip(
            ("off", "auto"), _called_in_turns(calls, size, BLOCK_SECONDS), strict=True
        ):
            yield _sample_judgement(f"{case}, {p}", CALL, "seconds", taken)
    for case, columns in GROWS.items():
        off, auto = (_bytes_held(contestant, columns, p) for p in ("off", "auto"))
        yield _sample_judgement(case, EXTRA, "bytes", max(0, auto - off))


def _called_in_turns(
    calls: Sequence[Callable[[], Any]], size: Size, block_seconds: float
) -> list[float]:
    for call in calls:
        jax.block_until_ready(call())
    return seconds_in_turns(calls, blocks=BLOCKS[size], block_seconds=block_seconds)


def _pick(constants: Sequence[Any], x: Any) -> Any:
    product = constants[0] @ constants[0]
    for i in range(PICKS):
        x = x * product[i // PRODUCT, i % PRODUCT] + 1
    return x


def _add_prior(constants: Sequence[Any], x: Any) -> Any:
    return x + jnp.log(jnp.full((PRIOR, PRIOR), constants[0][0]) / PRIOR)


def _bytes_held(contestant: Contestant, columns: int, precompute: str) -> int:
    """Count the bytes that a program of constant work has on the device once it was called."""
    before = device_buffers.alive()
    captured = jax.device_put(np.random.default_rng(0).random(columns, np.float32))
    x = jax.device_put(np.ones((1, columns), np.float32))
    bound = bind(contestant, _grow, [captured], (x,), **_options(contestant, precompute))
    return device_buffers.due_to_constants(before, [bound(), x], [captured])


def _grow(constants: Sequence[Any], x: Any) -> Any:
    [captured] = constants
    return x @ jnp.sort(jnp.outer(captured, captured), axis=1)


def judge_judgement(pool: Pool) -> Iterable[BenchLine]:
    """Hold `"auto"` to `"off"`, and what it keeps to its budget."""
    budget = Target(bound="at most", value=float(_budget()))
    yield pool.between(8, (OFF, AUTO), CALL, "simplified", NOT_SLOWER)
    yield pool.count(8, AUTO, CHANGED, "simplified", NOTHING)
    for case in EDGES:
        cases = f"{case}, off", f"{case}, auto"
        yield pool.between(8, cases, CALL, "simplified", NOT_SLOWER)
    for case in GROWS:
        yield pool.count(8, case, EXTRA, "simplified", budget)


def _budget() -> int:
    from simplified_consts.preamble.choice import LIMITS

    return LIMITS.extra_bytes


ROW = Row(7, "the constant preamble", measure, judge)
JUDGEMENT = Row(8, "the preamble's judgement", measure_judgement, judge_judgement)
