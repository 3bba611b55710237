"""Programs whose captured arrays the tests of `tune` give a cost of their own."""

import jax.numpy as jnp
import numpy as np

from parity_tests import program

RANDOM = np.random.default_rng(0)
TABLE, WEIGHTS, BIAS = (RANDOM.random(n, np.float32) for n in (512, 256, 64))
TWO = RANDOM.random((2, 64), np.float32)
GRAM = RANDOM.random((64, 256), np.float32)
LEFT, RIGHT = TWO.copy()
SCALE = np.arange(4, dtype=np.float32)  # below the embed threshold


@program(args=(np.float32(2.0),))
def three(x):
    return x * TABLE, x * WEIGHTS + SCALE[0], x * BIAS


@program(args=(np.float32(2.0),))
def one(x):
    return x * TABLE


@program(args=(np.float32(2.0),))
def none(x):
    return x * SCALE


@program(args=(np.float32(2.0),))
def twins(x):
    y = x * LEFT
    return y * RIGHT


@program(args=(np.float32(2.0),))
def twins_in_one_line(x):
    return x * LEFT * RIGHT


@program(args=(np.float32(2.0),))
def one_is_only_returned(x):
    return x * LEFT, RIGHT


@program(args=(np.float32(2.0),))
def raises(x):
    return x + no_such_name  # noqa: F821


@program(args=(np.float32(2.0),))
def gram(x):
    """A preamble computes the matrix and its sums once."""
    matrix = jnp.asarray(GRAM)
    return x * jnp.sum(matrix.T @ matrix, axis=0)
