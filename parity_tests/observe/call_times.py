"""Time a program that is called again and again: the whole call, and dispatching it alone."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax

SECONDS = 0.3  # so that the built-in corpus finishes in minutes; slow programs get 3 calls
FEWEST = 3
# Seven calls of each side can tell the sides apart beyond doubt; slower programs do without.
ENOUGH = 7
SECONDS_FOR_ENOUGH = 2.0
DIGITS = 8  # of a second, which is finer than the clock's own cost and short in a report


@dataclass(frozen=True)
class CallTimes:
    """Medians in seconds: `call` until the results are there, `dispatch` until the call returns.

    JAX returns before the results are there, so `dispatch` is the price for the caller's thread. A
    CPU computes small programs at once; then both have the work. Without samples, both are None.
    `seconds` has each call, in order.
    """

    call: float | None
    dispatch: float | None
    samples: int
    seconds: tuple[float, ...] = ()


NONE = CallTimes(None, None, 0)


def take(
    ready: Callable[[], Callable[[], Any]],
    most: int,
    after: Callable[[Any], object] = lambda result: None,
) -> CallTimes:
    """Call at most `most` times, and wait for the results of each call before the next.

    `ready` returns what is called and timed, anew for each call: a call consumes donated arguments.
    `after` is given each result when its time is taken.

    Example::

        take(lambda: functools.partial(jitted, x), 20).dispatch
    """
    whole: list[float] = []
    dispatch: list[float] = []
    while len(whole) < most and _goes_on(len(whole), sum(whole)):
        call = ready()
        start = time.perf_counter()
        result = call()
        returned = time.perf_counter()
        jax.block_until_ready(result)
        whole.append(time.perf_counter() - start)
        dispatch.append(returned - start)
        after(result)
    if not whole:
        return NONE
    each = tuple(round(seconds, DIGITS) for seconds in whole)
    return CallTimes(statistics.median(whole), statistics.median(dispatch), len(whole), each)


def _goes_on(taken: int, seconds: float) -> bool:
    few = taken < FEWEST or (taken < ENOUGH and seconds < SECONDS_FOR_ENOUGH)
    return few or seconds < SECONDS
