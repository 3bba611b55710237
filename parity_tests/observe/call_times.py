"""Time a program that is called again and again: the whole call, and dispatching it alone."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax

SECONDS = 0.3  # the built-in corpus has to finish in minutes; slow programs get 3 calls
FEWEST = 3


@dataclass(frozen=True)
class CallTimes:
    """Medians in seconds, None without samples: until the results are there, and until it returns.

    JAX returns before the results are there, so the second is what the caller's thread pays. What a
    CPU computes at once, as it does small programs, is in both.
    """

    call: float | None
    dispatch: float | None
    samples: int


def take(call: Callable[[], Any], most: int) -> CallTimes:
    """Call at most `most` times, each time when the results of the one before are there.

    take(functools.partial(jitted, x), 20).dispatch
    """
    whole: list[float] = []
    dispatch: list[float] = []
    while len(whole) < most and (len(whole) < FEWEST or sum(whole) < SECONDS):
        start = time.perf_counter()
        result = call()
        returned = time.perf_counter()
        jax.block_until_ready(result)
        whole.append(time.perf_counter() - start)
        dispatch.append(returned - start)
    if not whole:
        return CallTimes(None, None, 0)
    return CallTimes(statistics.median(whole), statistics.median(dispatch), len(whole))
