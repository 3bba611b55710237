"""Row 7: the constant preamble, on programs that gain by it: one that XLA folds slowly, and ten."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from parity_tests.bench.contestants import Bound, bind
from parity_tests.bench.measuring import seconds, seconds_per_call
from parity_tests.bench.pool import Measured, Pool, Row, Size
from reports.rows.bench import BenchLine, Contestant, Target

# XLA folds in jax-legacy: for 290 s with 1,024 columns (4 MiB), and for seconds with 256.
COLUMNS: dict[Size, int] = {"quick": 112, "default": 256, "full": 1024}
FEWEST = 96  # columns that are work enough for a preamble
BLOCKS: dict[Size, int] = {"quick": 2, "default": 9, "full": 9}
BLOCK_SECONDS = 0.02
COMPILE, CALL = "seconds to lower and compile", "seconds of a call"
FIRST = "seconds to the first result"
COMPILES_WITHIN = Target(bound="at most", value=1.5)
RUNS_WITHIN = Target(bound="at most", value=1.2)
STOCK: tuple[Contestant, ...] = ("jax-legacy", "jax-simplified")
Shape = tuple[int, ...]


def measure(contestant: Contestant, size: Size) -> Iterator[Measured]:
    """Compile and call the programs of the preamble; `simplified` does so with `"auto"`.

    A preamble runs at the first call: its result comes after compiling, the preamble and the call.
    """
    if contestant not in ("simplified", *STOCK):
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
    yield case, COMPILE, "seconds", taken
    called = seconds_per_call(call, blocks=BLOCKS[size], block_seconds=BLOCK_SECONDS)
    yield case, CALL, "seconds", called
    programs = PROGRAMS[:2] if size == "quick" else PROGRAMS
    together = 0.0
    for fun, table, argument in programs:
        bound = _bound(contestant, fun, table, argument)
        taken = seconds(functools.partial(_finish, bound))
        together += taken
        yield fun.__name__, FIRST, "seconds", taken
        called = seconds_per_call(bound, blocks=BLOCKS[size], block_seconds=BLOCK_SECONDS)
        yield fun.__name__, CALL, "seconds", called
    yield f"{len(programs)} programs together", FIRST, "seconds", together


def _finish(bound: Bound) -> None:
    jax.block_until_ready(bound())


def _bound(contestant: Contestant, fun: Callable[..., Any], table: Shape, argument: Shape) -> Bound:
    random = np.random.default_rng(0)
    c, x = (jax.device_put(random.random(shape, np.float32)) for shape in (table, argument))
    return bind(contestant, lambda cs, x: fun(*cs, x), [c], (x,), **options(contestant, "auto"))


def _program(columns: int) -> tuple[jax.Array, tuple[Any, ...]]:
    values = np.random.default_rng(0).standard_normal((columns, columns), np.float32)
    return jax.device_put(values), (jax.device_put(np.ones((1, columns), np.float32)),)


def _fold(constants: Sequence[Any], x: Any) -> Any:
    [captured] = constants
    c = jnp.sort(jnp.cumsum(captured, axis=0), axis=1)
    return x @ (c.T @ c)


def distances(c: Any, x: Any) -> Any:
    """Apply a kernel of captured points."""
    return _kernel(c) @ x


def cosines(c: Any, x: Any) -> Any:
    """Compare an argument with each row of a table, made of length 1."""
    return x @ (c / jnp.linalg.norm(c, axis=1, keepdims=True)).T


def forward(c: Any, x: Any) -> Any:
    """Take one step of a hidden Markov model, with a table of transitions."""
    return jax.nn.logsumexp(x[:, None] + jax.nn.log_softmax(c), axis=0)


def positions(c: Any, x: Any) -> Any:
    """Add sines and cosines of positions, with captured frequencies."""
    angles = jnp.outer(jnp.arange(len(x), dtype=c.dtype), c)
    return x + jnp.concatenate([jnp.sin(angles), jnp.cos(angles)], axis=1)


def quantiles(c: Any, x: Any) -> Any:
    """Look up where arguments stand among captured samples."""
    return jnp.searchsorted(jnp.sort(c), x)


def power(c: Any, x: Any) -> Any:
    """Take sixteen steps of a Markov chain."""
    c = c / c.sum(axis=1, keepdims=True)
    for _ in range(4):
        c = c @ c
    return c @ x


def moments(c: Any, x: Any) -> Any:
    """Apply the normal equations of a polynomial."""
    features = jnp.vander(c[:, 0] - c[:, 0].mean(), len(x))
    return (features.T @ features) @ x


def posterior(c: Any, x: Any) -> Any:
    """Solve with the kernel of a Gaussian process."""
    kernel = _kernel(c) + 1e-3 * jnp.eye(len(c))
    return jax.scipy.linalg.cho_solve((jnp.linalg.cholesky(kernel), True), x)


def spectrum(c: Any, x: Any) -> Any:
    """Apply a captured filter."""
    return jnp.fft.irfft(jnp.fft.rfft(c) * jnp.fft.rfft(x))


def spline(c: Any, x: Any) -> Any:
    """Look up coefficients that each depend on the one before."""
    _, coefficients = jax.lax.scan(lambda at, c: (c - 0.25 / at,) * 2, 1.0, c + 1)
    return jnp.interp(x, jnp.linspace(0, 1, len(c)), coefficients)


def _kernel(c: Any) -> Any:
    return jnp.exp(-((c[:, None] - c[None]) ** 2).sum(-1))


# Ten programs that do work on a table: the function, the shape of its table and of its argument.
PROGRAMS: tuple[tuple[Callable[..., Any], Shape, Shape], ...] = (
    (cosines, (8192, 64), (1, 64)),
    (forward, (512, 512), (512,)),
    (distances, (384, 8), (384,)),
    (positions, (64,), (2048, 128)),
    (quantiles, (16384,), (16,)),
    (power, (384, 384), (384,)),
    (moments, (65536, 4), (8,)),
    (posterior, (256, 4), (256,)),
    (spectrum, (65536,), (65536,)),
    (spline, (4096,), (16,)),
)


def options(contestant: Contestant, precompute: str) -> dict[str, Any]:
    """Return the options of a jit: `simplified` alone has a preamble."""
    return {"precompute_constants": precompute} if contestant == "simplified" else {}


def judge(pool: Pool) -> Iterable[BenchLine]:
    """Compare compiling with the mode that folds nothing, and calling with the one that folds.

    Of the ten programs both are compared with the better of stock JAX's modes in each.
    """
    for case in pool.cases(COMPILE):
        yield pool.ratio(case, COMPILE, "simplified", "jax-simplified", COMPILES_WITHIN)
        yield pool.ratio(case, COMPILE, "simplified", "jax-legacy")
        yield pool.ratio(case, CALL, "simplified", "jax-legacy", RUNS_WITHIN)
        yield pool.ratio(case, CALL, "simplified", "jax-simplified")
    for what in (FIRST, CALL):
        for case in (each for each in pool.cases(what) if each not in pool.cases(COMPILE)):
            medians = {each: float(np.median(pool.of(case, what, each))) for each in STOCK}
            better = min(STOCK, key=medians.__getitem__)
            yield pool.ratio(case, what, "simplified", better, RUNS_WITHIN)


ROW = Row(7, "the constant preamble", measure, judge)
