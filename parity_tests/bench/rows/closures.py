"""Row 5: closures of one program over different values, one after the other.

They are also made in a process that finds a persistent cache which another process has filled.
"""

from __future__ import annotations

import gc
import multiprocessing
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from parity_tests.bench.contestants import bind
from parity_tests.bench.measuring import seconds
from parity_tests.bench.pool import Measured, Pool, Row, Size
from parity_tests.bench.stepping import wait
from parity_tests.evidence.temporary_folders import temporary_folder
from parity_tests.observe import compile_cache
from parity_tests.observe.calls import work_of_jax
from reports.rows.bench import BenchLine, Contestant, Target

CLOSURES: dict[Size, int] = {"quick": 4, "default": 20, "full": 1_000}
LOOP, COMPILATIONS = "seconds of a closure, from the 2nd on", "compilations"
MISSES = "misses of the persistent cache"
FASTER = Target(bound="at least", value=20)
ONE, NONE = Target(bound="exactly", value=1), Target(bound="exactly", value=0)
WIDTH = 32


def measure(contestant: Contestant, size: Size) -> Iterator[Measured]:
    """Jit and call each closure once, here and then in two processes with one persistent cache."""
    count = CLOSURES[size]
    for name in PROGRAMS:
        with work_of_jax() as work:
            taken = _timed(contestant, name, range(count))
        yield f"{count:,} closures: {name}", LOOP, "seconds", taken / (count - 1)
        compilations = work["compilation"]
        yield f"{count:,} closures: {name}", COMPILATIONS, "count", compilations
    with temporary_folder("cache-") as folder:
        _in_another_process(contestant, folder, range(2))
        found = _in_another_process(contestant, folder, range(2, 2 + count))
    for name, (taken, misses) in found.items():
        case = f"{count:,} closures in another process: {name}"
        yield case, LOOP, "seconds", taken / (count - 1)
        yield case, MISSES, "count", misses


# By program: the seconds of all closures but the first, and the misses of the cache.
_Found = dict[str, tuple[float, int]]


def _in_another_process(contestant: Contestant, folder: Path, numbers: Sequence[int]) -> _Found:
    wait()
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, context, initializer=_end_with_parent) as executor:
        return executor.submit(_with_a_cache, contestant, folder, numbers).result()


def _end_with_parent() -> None:
    """End this process when its parent ends, even where the parent is killed."""
    parent = multiprocessing.parent_process()
    assert parent is not None

    def watch() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _with_a_cache(contestant: Contestant, folder: Path, numbers: Sequence[int]) -> _Found:
    found = {}
    for name in PROGRAMS:
        with compile_cache.cache_in(str(folder)), compile_cache.cache_events() as events:
            taken = _timed(contestant, name, numbers)
        found[name] = taken, events[compile_cache.MISS]
    return found


def _timed(contestant: Contestant, name: str, numbers: Sequence[int]) -> float:
    """Return the seconds of all closures but the first; a number is the seed of the values."""
    fun, make = PROGRAMS[name]
    # All values are on the device before the clock starts; making them needs no program.
    first, *others = [make(np.random.default_rng(number)) for number in numbers]
    x = jax.device_put(np.ones((8, WIDTH), np.float32))
    gc.collect()
    _call(contestant, fun, first, x)
    return seconds(lambda: _loop(contestant, fun, others, x))


def _loop(contestant: Contestant, fun: Any, values: Sequence[Any], x: Any) -> None:
    for each in values:
        _call(contestant, fun, each, x)


def _call(contestant: Contestant, fun: Any, constants: Sequence[Any], x: Any) -> None:
    # Nothing else holds a closure: it can be freed, with its executable, before the next one.
    jax.block_until_ready(bind(contestant, fun, constants, (x,))())


def _lookup(constants: Sequence[Any], x: Any) -> Any:
    [table] = constants
    return jnp.tanh(x) + table


def _table(random: np.random.Generator) -> list[jax.Array]:
    return [jax.device_put(random.random(WIDTH, np.float32))]


def _gradient(constants: Sequence[Any], x: Any) -> Any:
    def loss(x: Any) -> Any:
        for weights in constants:
            x = jnp.tanh(x @ weights)
        return jnp.mean(jax.nn.log_softmax(x) ** 2)

    return jax.value_and_grad(loss)(x)


def _layers(random: np.random.Generator) -> list[jax.Array]:
    shape = WIDTH, WIDTH
    return [jax.device_put(random.standard_normal(shape, np.float32)) for _ in range(4)]


PROGRAMS: dict[str, tuple[Callable[..., Any], Callable[..., list[jax.Array]]]] = {
    "tanh and a table": (_lookup, _table),
    "gradient of 4 layers": (_gradient, _layers),
}


def judge(pool: Pool) -> Iterable[BenchLine]:
    """Compare with both modes of stock JAX, and with the manual way, which also compiles once."""
    for case in pool.cases(LOOP):
        yield pool.ratio(case, LOOP, "simplified", "jax-legacy", FASTER)
        yield pool.ratio(case, LOOP, "simplified", "jax-simplified", FASTER)
        yield pool.ratio(case, LOOP, "simplified", "manual")
        if case in pool.cases(MISSES):
            yield pool.count(case, MISSES, "simplified", NONE, _others(pool, case, MISSES))
        else:
            others = _others(pool, case, COMPILATIONS)
            yield pool.count(case, COMPILATIONS, "simplified", ONE, others)


def _others(pool: Pool, case: str, what: str) -> str:
    sides: tuple[Contestant, ...] = ("jax-legacy", "jax-simplified", "legacy", "manual")
    return ", ".join(f"{each}: {pool.of(case, what, each).max():g}" for each in sides)


ROW = Row(5, "one program over other values", measure, judge)
