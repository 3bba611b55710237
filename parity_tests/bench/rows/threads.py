"""Row 12: many threads that each call a program of their own, as fast as they can."""

from __future__ import annotations

import functools
import statistics
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import jax
import jax.numpy as jnp

from parity_tests.bench.contestants import SAME_MODE, bind
from parity_tests.bench.pool import Measured, Pool, Row, Size
from parity_tests.bench.stepping import wait
from reports.rows.bench import BenchLine, Contestant, Target

THREADS, ARRAYS, LENGTH = 16, 4, 64
BLOCK_SECONDS: dict[Size, float] = {"quick": 0.05, "default": 0.5, "full": 0.5}
BLOCKS: dict[Size, int] = {"quick": 1, "default": 5, "full": 5}
CALL = "seconds of a call"
WITHIN = Target(bound="at most", value=1.05)


def measure(contestant: Contestant, size: Size) -> Iterator[Measured]:
    """Time blocks in which all threads call."""
    calls = [_call(contestant, number) for number in range(THREADS)]
    for each in calls:
        jax.block_until_ready(each())
    taken = [_seconds_of_a_call(calls, BLOCK_SECONDS[size]) for _ in range(BLOCKS[size])]
    yield f"{THREADS} threads", CALL, "seconds", statistics.median(taken)


def _call(contestant: Contestant, number: int) -> Callable[[], Any]:
    arrays = [jnp.full(LENGTH, float(ARRAYS * number + n)) for n in range(ARRAYS)]
    bound = bind(contestant, multiply_all, arrays, (jnp.ones(LENGTH),))
    return functools.partial(bound.jitted, *bound.args)


def multiply_all(constants: Sequence[Any], x: Any) -> Any:
    """Read each constant once."""
    for each in constants:
        x = x * each + 1
    return x


def _seconds_of_a_call(calls: Sequence[Callable[[], Any]], block_seconds: float) -> float:
    """Call in a thread each until the block is over: its seconds by the calls of all threads."""
    counts, begin, ends = [0] * len(calls), threading.Barrier(len(calls) + 1), threading.Event()

    def call(number: int) -> None:
        begin.wait()
        while not ends.is_set():
            calls[number]().block_until_ready()
            counts[number] += 1

    threads = [threading.Thread(target=call, args=(number,)) for number in range(len(calls))]
    for each in threads:
        each.start()
    wait()
    begin.wait()
    start = time.perf_counter()
    time.sleep(block_seconds)
    ends.set()
    for each in threads:
        each.join()
    return (time.perf_counter() - start) / sum(counts)


def judge(pool: Pool) -> Iterable[BenchLine]:
    """Compare with stock JAX in the same mode, and with the manual way."""
    for case in pool.cases(CALL):
        for ours, stock in SAME_MODE:
            yield pool.ratio(case, CALL, ours, stock, WITHIN)
        yield pool.ratio(case, CALL, "simplified", "manual")


ROW = Row(12, "calls of many threads", measure, judge, process="all cores")
