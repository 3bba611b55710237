"""Programs whose outputs agree on the sides of JAX's flag, and most of whose effects do not."""

import os

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.experimental import io_callback

from parity_tests import program

SIMPLIFIED = os.environ["JAX_USE_SIMPLIFIED_JAXPR_CONSTANTS"] == "1"
WEIGHTS = np.linspace(0.0, 1.0, 40, dtype=np.float32)
X = (np.float32(2.0),)
SCALAR = jax.ShapeDtypeStruct((), np.float32)


def note(*values):
    """Stands for a logger."""


def note_other(*values):
    """Stands for another logger."""


def doubled(value):
    return np.float32(2 * value)


# -- planted differences ---------------------------------------------------------------------------


@program(args=X)
def other_value(x):
    jax.debug.callback(note, x * (3.0 if SIMPLIFIED else 2.0))
    return x * WEIGHTS


@program(args=X)
def other_number_of_turns(x):
    turns = 4 if SIMPLIFIED else 3

    def body(turn, carry):
        io_callback(note, None, turn, ordered=True)
        return carry

    return lax.fori_loop(0, turns, body, x) * WEIGHTS


@program(args=X)
def other_function(x):
    jax.debug.callback(note_other if SIMPLIFIED else note, x)
    return x * WEIGHTS


@program(args=X)
def other_order(x):
    functions = (note, note_other) if SIMPLIFIED else (note_other, note)
    for function in functions:
        io_callback(function, None, x, ordered=True)
    return x * WEIGHTS


@program(args=X)
def other_order_of_values(x):
    for value in (x, x + 1) if SIMPLIFIED else (x + 1, x):
        jax.debug.callback(note, value, ordered=True)
    return x * WEIGHTS


@program(args=X)
def other_text(x):
    jax.debug.print("loss {}", x + (1.0 if SIMPLIFIED else 0.0))
    return x * WEIGHTS


@program(args=X)
def other_words(x):
    jax.debug.print("error {}" if SIMPLIFIED else "loss {}", x)
    return x * WEIGHTS


@program(args=X)
def other_tag(x):
    jax.debug.callback(note, x, "after" if SIMPLIFIED else "before")
    return x * WEIGHTS


@program(args=X)
def pure_of_other_value(x):
    # The result is the same: what is called is told another thing.
    scale = 2.0 if SIMPLIFIED else 4.0
    return jax.pure_callback(doubled, SCALAR, x * scale) / scale * WEIGHTS


# -- look-alikes -----------------------------------------------------------------------------------


@program(args=X)
def same_effects(x):
    jax.debug.print("x is {} of {name}", x, name="weights")
    jax.debug.callback(note, x, WEIGHTS, ordered=True)
    kept = io_callback(doubled, SCALAR, x, ordered=True)
    return jax.pure_callback(doubled, SCALAR, kept) * WEIGHTS


@program(args=X)
def other_order_without_order(x):
    for value in (x, x + 1) if SIMPLIFIED else (x + 1, x):
        jax.debug.callback(note, value)
    return x * WEIGHTS


@program(args=X)
def rounded_value(x):
    jax.debug.callback(note, jnp.cos(x * (1 + 2.0**-22 if SIMPLIFIED else 1)))
    return x * WEIGHTS


@program(args=X)
def counts_its_calls(x):
    return io_callback(_next, SCALAR, x, ordered=True) * WEIGHTS


_calls = iter(range(10**9))


def _next(x):
    return np.float32(next(_calls))


@program(args=X)
def pure_more_often(x):
    def body(turn, carry):
        return jax.pure_callback(doubled, SCALAR, x + 0 * carry)

    return lax.fori_loop(0, 3 if SIMPLIFIED else 2, body, x) * WEIGHTS
