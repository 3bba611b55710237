"""Programs of one process: from the first that reads the flag, each is traced once more.

Each prints its name when it is traced. JAX traces `helper` once, for the first that calls it.
"""

import jax
import jax.numpy as jnp

from parity_tests import program

TABLE = jnp.arange(64.0)
X = jnp.ones(64)


@jax.jit
def helper(x):
    return x * 2 if jax.config.jax_use_simplified_jaxpr_constants else x * 3


@program(args=(X,))
def comes_first(x):
    print("traced comes_first")
    return x + TABLE


@program(args=(X,))
def reads_nothing(x):
    print("traced reads_nothing")
    return x * TABLE + TABLE


@program(args=(X,))
def reads(x):
    print("traced reads")
    return helper(x) + TABLE


@program(args=(X,))
def reads_what_was_traced(x):
    print("traced reads_what_was_traced")
    return helper(x) - TABLE
