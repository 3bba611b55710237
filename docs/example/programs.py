"""The programs of the reports in this folder: two that a flip leaves alone, and three others."""

import jax
import jax.numpy as jnp

from parity_tests import program

WEIGHTS = jnp.arange(64 * 64, dtype=jnp.int32).reshape(64, 64)
X = jnp.ones(64, jnp.int32)


@program(args=(X,))
def one_matrix(x):
    """A captured matrix that is used once."""
    return WEIGHTS @ x


@program(args=(X,))
def one_matrix_three_times(x):
    """A captured matrix that stock JAX passes three times after a flip."""
    return WEIGHTS @ x + WEIGHTS[0] * x + WEIGHTS.sum(axis=0)


@program(args=(X,))
def counts_constants(x):
    """Reads the constants of its own jaxpr, which has none after a flip."""
    closed = jax.make_jaxpr(lambda x: WEIGHTS @ x)(x)
    return len(closed.consts) * x


@program(args=(X,))
def takes_the_first_constant(x):
    """Takes the first constant of its own jaxpr, and fails where there is none."""
    closed = jax.make_jaxpr(lambda x: WEIGHTS @ x)(x)
    return closed.consts[0] @ x


@program(args=(X,))
def works_three_times(x):
    """Computes a product twice more after a flip, for it reads the flag."""
    found = WEIGHTS @ x
    for _ in range(2 if jax.config.jax_use_simplified_jaxpr_constants else 0):
        found = jnp.maximum(found, WEIGHTS @ x)
    return found
