"""A program whose output XLA splits by rows, or by columns where a table is passed twice.

One branch has the table replicated, and others multiply with it. Stock JAX may pass a NumPy array
once for each of these uses; it passes an array of its own once.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import AxisType, NamedSharding
from jax.sharding import PartitionSpec as P

from parity_tests import program

MESH = jax.make_mesh((2,), ("i",), axis_types=(AxisType.Auto,))
TABLE = np.arange(16, dtype=np.float32).reshape(4, 4) / 16
OTHER = jnp.cos(TABLE)


@program
def of_numpy():
    return tangents(TABLE), (TABLE,)


@program
def of_jax():
    return tangents(jnp.asarray(TABLE)), (TABLE,)


def tangents(table):
    by_rows = jax.shard_map(lambda x: x, mesh=MESH, in_specs=P("i"), out_specs=P("i"))

    def root(x):
        return lax.custom_root(
            lambda y: y - x * OTHER * table,
            x,
            lambda function, y: y - function(y),
            lambda function, y: y / function(jnp.ones_like(y)),
        )

    def replicated(x):
        like_x = jnp.broadcast_to(table, x.shape)
        return x * lax.with_sharding_constraint(like_x, NamedSharding(MESH, P()))

    @jax.jit
    def function(x):
        x = lax.cond(jnp.sum(x) < 1000.0, lambda: by_rows(x), lambda: x * table)
        branches = (lambda x: x * table, replicated, lambda x: root(x).T)
        return lax.switch(jnp.int32(jnp.sum(x) < 1000.0), branches, x)

    return lambda x: jax.linearize(function, x)[1](jnp.ones_like(x))
