"""Programs whose outputs differ between the modes, alike in our pipelines and in stock JAX."""

import jax
import jax.numpy as jnp
import numpy as np

from parity_tests import program

TABLE = np.arange(12, dtype=np.float32)


@program(args=(np.float32(1.0),))
def counts_the_consts_of_a_jaxpr(x):
    """Reads what a migration changes: in legacy an array is among the consts of a jaxpr."""
    closed = jax.make_jaxpr(lambda y: y * jnp.asarray(TABLE))(x)
    return x + len(closed.consts)


@program(args=(np.float32(1.0),))
def raises_alike_on_every_side(x):
    raise LookupError("no such table")
