"""Large captures are reported in both modes, per program and per constant, with places."""

from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import engine
from engine.ir.captured_constants import captured_constants


@pytest.fixture
def limits():
    """Set JAX's two settings for one test."""
    before = {
        name: getattr(jax.config, name)
        for name in ("jax_captured_constants_warn_bytes", "jax_captured_constants_report_frames")
    }

    def set_limits(warn_bytes, frames=0):
        jax.config.update("jax_captured_constants_warn_bytes", warn_bytes)
        jax.config.update("jax_captured_constants_report_frames", frames)

    yield set_limits
    for name, value in before.items():
        jax.config.update(name, value)


def fun_of(big, small):
    def captures_here(x):
        return called_by(x)

    def called_by(x):
        return x + big * jax.jit(lambda y: (y + small).sum())(x)

    return captures_here


BIG, SMALL = jnp.ones(300), np.ones(100, np.float32)


def messages(record):
    return [str(warning.message) for warning in record]


def test_total_of_a_program(side, limits):
    limits(1500)  # neither array reaches it alone
    with pytest.warns(UserWarning, match="A large amount of constants were captured") as record:
        engine.jit(fun_of(BIG, SMALL), constants=side).lower(1.0)
    [message] = messages(record)
    assert "(1.60KB total)" in message
    assert "JAX_CAPTURED_CONSTANTS_WARN_BYTES=-1" in message


def test_single_constants(side, limits):
    limits(1000)
    with pytest.warns(UserWarning, match="onstant") as record:
        engine.jit(fun_of(BIG, SMALL), constants=side)(1.0)
    single, total = messages(record)
    assert single.startswith("Closed-over constant")
    assert "float32[300] in captures_here at" in single
    assert "(1.60KB total)" in total


@pytest.mark.parametrize("frames", [1, -1])
def test_places(side, limits, frames):
    limits(1500, frames)
    with pytest.warns(UserWarning, match="captured at:") as record:
        engine.jit(fun_of(BIG, SMALL), constants=side).lower(1.0)
    [message] = messages(record)
    assert "called_by)" in message  # the innermost frame
    assert ("captures_here)" in message) is (frames == -1)  # -1 is all frames
    assert "Exception raised" not in message


@pytest.mark.parametrize("warn_bytes", [-1, 1601])
def test_silence(side, limits, warn_bytes):
    limits(warn_bytes)
    engine.jit(fun_of(BIG, SMALL), constants=side)(1.0)  # warnings are errors


def test_an_array_that_is_read_twice_counts_once(side, limits):
    limits(1201)
    engine.jit(lambda x: x + BIG.sum() * BIG.mean(), constants=side)(1.0)  # warnings are errors


@pytest.mark.parametrize("kind", ["reference", "number of Python", "number of NumPy"])
def test_values_that_are_no_constants_are_never_reported(side, limits, kind):
    reference, x = jax.new_ref(SMALL), np.ones(100, np.float32)
    fun = {
        "reference": lambda x: x + reference[...],
        "number of Python": lambda x: x + 2.0,
        "number of NumPy": lambda x: x + np.float32(2),
    }[kind]
    limits(0)  # JAX itself warns from a limit of 0 on, with or without constants
    engine.jit(fun, constants=side).lower(x)  # warnings are errors


def test_a_program_is_reported_once(side, limits):
    limits(1500)
    jitted = engine.jit(fun_of(BIG, SMALL), constants=side)
    with pytest.warns(UserWarning, match="A large amount"):
        jitted(1.0)
    jitted(1.0)  # warnings are errors
    jitted.lower(1.0)


def test_captured_constants_name_file_line_and_function(side):
    closed_jaxpr = engine.jit(fun_of(BIG, SMALL), constants=side).trace(1.0).jaxpr
    big, small = captured_constants(closed_jaxpr)
    assert big.value is BIG
    assert (big.nbytes, small.nbytes) == (1200, 400)
    file, line, function = big.captured_at()
    assert file == __file__
    assert function == "fun_of.<locals>.called_by"
    assert "big *" in Path(file).read_text().splitlines()[line - 1]
