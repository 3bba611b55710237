"""Measurements of the rows: the seconds of a block of calls, and the Python frames of one call."""

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

Finish = Callable[[Any], Any]


def seconds(action: Callable[[], Any], *, after: Callable[[], Any] = lambda: None) -> float:
    """Return how long an action takes, once, when it is the turn of this process.

    `after` runs before the action and is not timed. Other processes may have measured in between
    and filled the caches of the core, which an action of some milliseconds would pay for.
    """
    wait()
    after()
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def seconds_per_call(call: Callable[[], Any], *, blocks: int, block_seconds: float) -> float:
    """Return the seconds of a call that waits for its result: the median over blocks of calls.

    A call of some microseconds is too short for the clock, so blocks of about `block_seconds` are
    timed. `call` must have run before.
    """
    [taken] = seconds_in_turns([call], blocks=blocks, block_seconds=block_seconds)
    return taken


def seconds_in_turns(
    calls: Sequence[Callable[[], Any]], *, blocks: int, block_seconds: float
) -> list[float]:
    """Return `seconds_per_call` of each of several calls, with their blocks in the order A B B A.

    For calls within one process, which may grow slower between the first and the last.
    """
    finishes = [_finish_of(call()) for call in calls]
    lengths = list(map(functools.partial(_calls_of_a_block, block_seconds), calls, finishes))
    taken: list[list[float]] = [[] for _ in calls]
    for repetition in range(blocks):
        numbers = range(len(calls))
        for number in numbers if repetition % 2 == 0 else reversed(numbers):
            length = lengths[number]
            block = _seconds_of_a_block(calls[number], finishes[number], length)
            taken[number].append(block / length)
    return [statistics.median(samples) for samples in taken]


def _calls_of_a_block(block_seconds: float, call: Callable[[], Any], finish: Finish) -> int:
    """Return how many calls take about as long as a block: estimated by one call, then by more."""
    calls = max(1, round(block_seconds / _seconds_of_a_block(call, finish, 1) / 10))
    seconds_of_one = _seconds_of_a_block(call, finish, calls) / calls
    return max(calls, round(block_seconds / seconds_of_one))


def _seconds_of_a_block(call: Callable[[], Any], finish: Finish, calls: int) -> float:
    def block() -> None:
        for _ in range(calls):
            finish(call())

    return seconds(block, after=block)


def _finish_of(result: Any) -> Finish:
    """Return a function that waits for results like this one.

    For an array it is not `jax.block_until_ready`: that is a function of Python, which would take a
    tenth of a call of some microseconds, for every contestant alike.
    """
    if isinstance(result, jax.Array):
        return operator.methodcaller("block_until_ready")
    return jax.block_until_ready


def python_frames(call: Callable[[], Any]) -> int:
    """Count the Python functions that a call enters; `call` itself must not be one.

    Example::

        python_frames(functools.partial(jitted, x)) == 0
    """
    frames = 0
    collects = gc.isenabled()

    def note(frame: Any, event: str, argument: object) -> None:
        nonlocal frames
        frames += event == "call"

    before = sys.getprofile()
    gc.disable()  # a collection may begin at any time, and calls functions of JAX
    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(before)
        if collects:
            gc.enable()
    return frames
