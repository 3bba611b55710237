"""What the rows measure with: seconds of a block of calls, and the Python frames of one call."""

from __future__ import annotations

import functools
import gc
import operator
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import jax

from parity_tests.bench.stepping import wait

Wait = Callable[[Any], Any]


def seconds(action: Callable[[], Any], *, after: Callable[[], Any] = lambda: None) -> float:
    """Return how long an action takes, once, when it is the turn of this process.

    `after` is done before and not timed: where others have measured in between, the caches of the
    core hold what is theirs, and what takes some milliseconds would be charged for that.
    """
    wait()
    after()
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def seconds_per_call(call: Callable[[], Any], *, blocks: int, block_seconds: float) -> float:
    """Return the median over blocks of the seconds of a call, each waiting for its result.

    A call of some microseconds is too short for the clock, so blocks of about `block_seconds` are
    timed. `call` must have run before.
    """
    [taken] = seconds_in_turns([call], blocks=blocks, block_seconds=block_seconds)
    return taken


def seconds_in_turns(
    calls: Sequence[Callable[[], Any]], *, blocks: int, block_seconds: float
) -> list[float]:
    """`seconds_per_call` of each of several calls, their blocks in turns: A B B A.

    For calls within one process, which may grow slower between the first and the last.
    """
    waits = [_wait_for(call()) for call in calls]
    lengths = list(map(functools.partial(_calls_of_a_block, block_seconds), calls, waits))
    taken: list[list[float]] = [[] for _ in calls]
    for turn in range(blocks):
        numbers = range(len(calls))
        for number in numbers if turn % 2 == 0 else reversed(numbers):
            length = lengths[number]
            block = _block(calls[number], waits[number], length)
            taken[number].append(block / length)
    return [statistics.median(samples) for samples in taken]


def _calls_of_a_block(block_seconds: float, call: Callable[[], Any], wait: Wait) -> int:
    calls = max(1, round(block_seconds / _block(call, wait, 1) / 10))
    return max(calls, round(block_seconds / (_block(call, wait, calls) / calls)))


def _block(call: Callable[[], Any], wait: Wait, calls: int) -> float:
    def block() -> None:
        for _ in range(calls):
            wait(call())

    return seconds(block, after=block)


def _wait_for(result: Any) -> Wait:
    """What waits for results like this one: for an array, no function of Python.

    `jax.block_until_ready` is one, and would be a tenth of a call of some microseconds, the same
    tenth of every contestant's.
    """
    if isinstance(result, jax.Array):
        return operator.methodcaller("block_until_ready")
    return jax.block_until_ready


def python_frames(call: Callable[[], Any]) -> int:
    """Count the Python functions that a call enters; `call` itself must be none, as a partial is.

    python_frames(functools.partial(jitted, x)) == 0
    """
    frames = 0
    collects = gc.isenabled()

    def note(frame: Any, event: str, argument: object) -> None:
        nonlocal frames
        frames += event == "call"

    before = sys.getprofile()
    gc.disable()  # it calls functions of JAX, whenever it comes
    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(before)
        if collects:
            gc.enable()
    return frames
