"""What the rows measure with: seconds of a block of calls, and the Python frames of one call."""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import jax


def seconds(action: Callable[[], Any]) -> float:
    """Return how long an action takes, once."""
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def seconds_per_call(call: Callable[[], Any], *, blocks: int, block_seconds: float) -> float:
    """Return the median over blocks of the seconds of a call, each waiting for its result.

    A call of some microseconds is too short for the clock, so blocks of about `block_seconds` are
    timed. `call` must have run before.
    """

    def block(calls: int) -> float:
        start = time.perf_counter()
        for _ in range(calls):
            jax.block_until_ready(call())
        return time.perf_counter() - start

    calls = max(1, round(block_seconds / block(1) / 10))
    calls = max(calls, round(block_seconds / (block(calls) / calls)))
    return statistics.median(block(calls) / calls for _ in range(blocks))


def python_frames(call: Callable[[], Any]) -> int:
    """Count the Python functions that a call enters; `call` itself must be none, as a partial is.

    python_frames(functools.partial(jitted, x)) == 0
    """
    frames = 0

    def note(frame: Any, event: str, argument: object) -> None:
        nonlocal frames
        frames += event == "call"

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(before)
    return frames
