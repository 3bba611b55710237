"""Programs with one captured array that makes a difference, among arrays that make none."""

import os

import jax
import jax.numpy as jnp
import numpy as np

from parity_tests import program

X = (np.ones(2048, np.float32),)
SEVEN = [np.arange(2048, dtype=np.float32) % 7 + number for number in range(7)]
ANGLES = np.linspace(0.0, 50.0, 2048, dtype=np.float32)
WIDER = np.linspace(0.0, 70.0, 2048, dtype=np.float32)
SQUARE = np.random.default_rng(0).normal(size=(64, 64)).astype(np.float32)
SCALE = np.arange(4, dtype=np.float32)  # below the embed threshold


@program(args=X)
def one_folds(x):
    y = x + SCALE.sum()
    for each in SEVEN:
        y = y + each
    window = jnp.exp(jnp.multiply(ANGLES, -0.1))  # the bait
    return {"sum": y, "bait": x * window / jnp.sum(window)}


@program(args=X)
def two_fold(x):
    left = x * jnp.exp(jnp.multiply(ANGLES, -0.1))  # the left bait
    right = x * jnp.exp(jnp.multiply(WIDER, -0.1))  # the right bait
    return left, right, x + SEVEN[0]


@program(args=X)
def folds_and_reads(x):
    y = x * jnp.exp(jnp.multiply(ANGLES, -0.1))  # the bait beside a read
    closed = jax.make_jaxpr(lambda v: v + SEVEN[0])(x)
    return y * (1 + len(closed.consts))  # the read


@program(args=X)
def one_takes_temporaries(x):
    y = x
    for each in SEVEN:
        y = y * each
    return y, jnp.tanh(SQUARE @ SQUARE) @ x[:64]  # the eater


@program(args=X)
def none_does(x):
    return x + SEVEN[0]


@program(args=X)
def none_at_all(x):
    return x + SCALE[0]


@program(args=X)
def raises(x):
    return x + no_such_name  # noqa: F821


@program(args=X)
def returns_a_text(x):
    return "a text"


@program(args=X)
def exits(x):
    os._exit(7)
