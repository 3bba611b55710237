"""Measurements of calls: blocks, the order of several calls, and Python frames."""

import functools

import jax.numpy as jnp

import engine
from parity_tests.bench.measuring import python_frames, seconds_in_turns, seconds_per_call


def test_python_in_a_call_is_counted():
    jitted = engine.jit(lambda x: x + 1)
    jitted(1.0)
    assert python_frames(functools.partial(jitted, 1.0)) == 0
    assert python_frames(lambda: jitted(1.0)) == 1
    assert python_frames(functools.partial(jitted, jnp.ones(7))) > 10  # a miss


def test_a_block_of_calls_is_as_long_as_it_is_asked_to_be():
    calls = []
    seconds_per_call(lambda: calls.append(None), blocks=3, block_seconds=1e-9)
    # One call to see its result. Then two to estimate the length of a block, and one in each block:
    # each of these after a call that is not timed.
    assert len(calls) == 1 + 2 * (2 + 3)


def test_calls_of_one_process_take_turns():
    order = []
    calls = [functools.partial(order.append, name) for name in "ab"]
    assert len(seconds_in_turns(calls, blocks=3, block_seconds=1e-9)) == 2
    assert "".join(order[10::2]) == "abbaab"  # before that, five calls of each to estimate
