"""Row 5: closures of one program over other values, one after the other."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from parity_tests.bench.contestants import bind
from parity_tests.bench.measuring import seconds
from parity_tests.bench.pool import Pool
from parity_tests.bench.row import Row, Size, sampler
from parity_tests.calls import work_of_jax
from reports.bench_rows import BenchLine, Contestant, Sample, Target

CLOSURES: dict[Size, int] = {"quick": 4, "default": 20, "full": 1_000}
LOOP, COMPILATIONS = "seconds of a closure, from the 2nd on", "compilations"
FASTER = Target(bound="at least", value=20)
ONE = Target(bound="exactly", value=1)
_WIDTH = 32
_sample = sampler(5)


def measure(contestant: Contestant, size: Size) -> Iterator[Sample]:
    """Make closures, jit and call each once."""
    count = CLOSURES[size]
    for case, (fun, make) in _PROGRAMS.items():
        # All values before: on a device, and without programs of their own.
        values = [make(np.random.default_rng(number)) for number in range(count)]
        x = jax.device_put(np.ones((8, _WIDTH), np.float32))
        gc.collect()
        with work_of_jax() as work:
            _call(contestant, fun, values[0], x)
            taken = seconds(lambda: _loop(contestant, fun, values[1:], x))  # noqa: B023
        yield _sample(f"{count:,} closures: {case}", LOOP, "seconds", taken / (count - 1))
        compilations = work["compilation"]
        yield _sample(f"{count:,} closures: {case}", COMPILATIONS, "count", compilations)


def _loop(contestant: Contestant, fun: Any, values: Sequence[Any], x: Any) -> None:
    for each in values:
        _call(contestant, fun, each, x)


def _call(contestant: Contestant, fun: Any, constants: Sequence[Any], x: Any) -> None:
    # Nothing else holds a closure: it and its executable may go before the next one comes.
    jax.block_until_ready(bind(contestant, fun, constants, (x,))())


def _lookup(constants: Sequence[Any], x: Any) -> Any:
    [table] = constants
    return jnp.tanh(x) + table


def _table(random: np.random.Generator) -> list[jax.Array]:
    return [jax.device_put(random.random(_WIDTH, np.float32))]


def _gradient(constants: Sequence[Any], x: Any) -> Any:
    def loss(x: Any) -> Any:
        for weights in constants:
            x = jnp.tanh(x @ weights)
        return jnp.mean(jax.nn.log_softmax(x) ** 2)

    return jax.value_and_grad(loss)(x)


def _layers(random: np.random.Generator) -> list[jax.Array]:
    shape = _WIDTH, _WIDTH
    return [jax.device_put(random.standard_normal(shape, np.float32)) for _ in range(4)]


_PROGRAMS: dict[str, tuple[Callable[..., Any], Callable[..., list[jax.Array]]]] = {
    "tanh and a table": (_lookup, _table),
    "gradient of 4 layers": (_gradient, _layers),
}


def judge(pool: Pool) -> Iterable[BenchLine]:
    """Compare with both modes of stock JAX, and with the manual way, which compiles once too."""
    for case in pool.cases(5, LOOP):
        yield pool.ratio(5, case, LOOP, "simplified", "jax-legacy", FASTER)
        yield pool.ratio(5, case, LOOP, "simplified", "jax-simplified", FASTER)
        yield pool.ratio(5, case, LOOP, "simplified", "manual")
        others = ", ".join(
            f"{each}: {pool.of(5, case, COMPILATIONS, each).max():g}"
            for each in ("jax-legacy", "jax-simplified", "legacy", "manual")
        )
        yield pool.count(5, case, COMPILATIONS, "simplified", ONE, others)


ROW = Row(5, "one program over other values", measure, judge)
