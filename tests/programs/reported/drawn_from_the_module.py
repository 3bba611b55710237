"""Factories that draw from what their module shares: each side builds each of them once."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np

from parity_tests import program

rng = np.random.default_rng(0)
np.random.seed(0)
numbers = itertools.count()
ONES = (jnp.ones(64),)


def _scaled(weights):
    weights = jnp.asarray(weights, jnp.float32)
    return (lambda x: x * weights), ONES


@program
def keeps_a_state():
    """Its trace leaves a tracer in its state, so it cannot be traced once more as it is."""
    weights = jnp.asarray(rng.normal(size=64), jnp.float32)
    state = [jnp.asarray(rng.normal(size=64), jnp.float32)]
    update = jax.jit(lambda s: s * weights)

    def step():
        state[0] = update(state[0])
        return state[0].sum()

    return step, ()


@program
def of_a_generator():
    return _scaled(rng.normal(size=64))


@program
def of_a_generator_again():
    return _scaled(rng.normal(size=64))


@program
def of_numpy():
    return _scaled(np.random.normal(size=64))


@program
def of_numpy_again():
    return _scaled(np.random.normal(size=64))


@program
def of_a_count():
    return _scaled([next(numbers)] * 64)


@program
def of_a_count_again():
    return _scaled([next(numbers)] * 64)


@program(args=lambda: (jnp.asarray(rng.normal(size=64), jnp.float32),))
def of_arguments(x):
    return 2 * x


@program(args=lambda: (jnp.asarray(rng.normal(size=64), jnp.float32),))
def of_arguments_again(x):
    return 3 * x
