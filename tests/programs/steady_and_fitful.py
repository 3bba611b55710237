"""A program that repeats itself, and one that does not."""

import os

import jax.numpy as jnp

from parity_tests import program


@program(args=(1.0,))
def steady(x):
    return x + 1


@program(args=(1.0,))
def fitful(x):
    return x + jnp.float32(int.from_bytes(os.urandom(3), "big"))
