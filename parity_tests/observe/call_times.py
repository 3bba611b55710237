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


@dataclass(frozen=True)
class CallTimes:
    """Medians in seconds: `call` until the results are there, `dispatch` until the call returns.

    JAX returns before the results are there, so `dispatch` is the price for the caller's thread. A
    CPU computes small programs at once; then both have the work. Without samples, both are None.
    """

    call: float | None
    dispatch: float | None
    samples: int


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
    while len(whole) < most and (len(whole) < FEWEST or sum(whole) < SECONDS):
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
    return CallTimes(statistics.median(whole), statistics.median(dispatch), len(whole))
