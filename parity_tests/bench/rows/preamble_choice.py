"""Row 8: the constant preamble's choice, on programs that gain little by it or nothing."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from parity_tests import targets
from parity_tests.bench.contestants import bind, jit
from parity_tests.bench.measuring import seconds_in_turns
from parity_tests.bench.pool import Measured, Pool, Row, Size
from parity_tests.bench.rows.compile_time import PROGRAMS
from parity_tests.bench.rows.preamble import BLOCK_SECONDS, BLOCKS, CALL, options
from parity_tests.observe import device_buffers
from reports.rows.bench import BenchLine, Contestant, Target

OFF, AUTO = "programs of the corpus, off", "programs of the corpus, auto"
CHANGED = "programs that are changed"
EXTRA = "bytes of device buffers beyond those of off"
# Sorts of outer products: one result is too large to keep, the other just fits.
GROWS = {
    "sort of an outer product, 4.0 MiB of 4.0 KiB": 1024,
    "sort of an outer product, 1.0 MiB of 2.0 KiB": 512,
}
# Work on constants that is hardly worth a preamble, or only looks as if it were.
EDGES = ("picks of a product", "logarithm of a prior")
PICKS, PRODUCT, PRIOR = 500, 96, 512
NOT_SLOWER = Target(bound="at most", value=1.05)
NOTHING = Target(bound="exactly", value=0)


def measure(contestant: Contestant, size: Size) -> Iterator[Measured]:
    """Call programs of the corpus with `"off"` and `"auto"`, which should be the same programs.

    Then call programs at the edge of being worth a preamble, and count the bytes that the results
    of a preamble take beyond the constants that they replace.
    """
    if contestant != "simplified":
        return
    changed, seconds_of = 0, np.zeros(2)
    for name in PROGRAMS[size]:
        fun, args, kwargs = targets.load_one(f"{targets.CORPUS}.{name}").build()
        jitted = [jit(contestant, fun, **options(contestant, p)) for p in ("off", "auto")]
        off, auto = (each.lower(*args, **kwargs).as_text() for each in jitted)
        changed += off != auto
        calls: list[Any] = [functools.partial(each, *args, **kwargs) for each in jitted]
        seconds_of += _called_in_turns(calls, size, BLOCK_SECONDS / 4)
    for case, taken in zip((OFF, AUTO), seconds_of.tolist(), strict=True):
        yield case, CALL, "seconds", taken
    yield AUTO, CHANGED, "count", changed
    programs = ((_pick, (PRODUCT, PRODUCT), 16), (_add_prior, (1,), (PRIOR, PRIOR)))
    for case, (fun, shape, of_argument) in zip(EDGES, programs, strict=True):
        captured = jax.device_put(np.random.default_rng(0).random(shape, np.float32))
        x = jax.device_put(np.ones(of_argument, np.float32))
        calls = [
            bind(contestant, fun, [captured], (x,), **options(contestant, p))
            for p in ("off", "auto")
        ]
        for p, taken in zip(
            ("off", "auto"), _called_in_turns(calls, size, BLOCK_SECONDS), strict=True
        ):
            yield f"{case}, {p}", CALL, "seconds", taken
    for case, columns in GROWS.items():
        off, auto = (_bytes_held(contestant, columns, p) for p in ("off", "auto"))
        yield case, EXTRA, "bytes", max(0, auto - off)


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
    """Count the bytes that a program with work on constants holds on the device after a call."""
    before = device_buffers.alive()
    captured = jax.device_put(np.random.default_rng(0).random(columns, np.float32))
    x = jax.device_put(np.ones((1, columns), np.float32))
    bound = bind(contestant, _grow, [captured], (x,), **options(contestant, precompute))
    return device_buffers.due_to_constants(before, [bound(), x], [captured])


def _grow(constants: Sequence[Any], x: Any) -> Any:
    [captured] = constants
    return x @ jnp.sort(jnp.outer(captured, captured), axis=1)


def judge(pool: Pool) -> Iterable[BenchLine]:
    """Compare `"auto"` with `"off"`, and the bytes that it keeps with its budget."""
    budget = Target(bound="at most", value=float(_budget()))
    yield pool.between((OFF, AUTO), CALL, "simplified", NOT_SLOWER)
    yield pool.count(AUTO, CHANGED, "simplified", NOTHING)
    for case in EDGES:
        cases = f"{case}, off", f"{case}, auto"
        yield pool.between(cases, CALL, "simplified", NOT_SLOWER)
    for case in GROWS:
        yield pool.count(case, EXTRA, "simplified", budget)


def _budget() -> int:
    from simplified_consts.preamble.profitability import LIMITS

    return LIMITS.extra_bytes


ROW = Row(8, "the preamble's judgement", measure, judge)
