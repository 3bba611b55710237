"""A Pallas kernel captures an array, and is accepted.

Pallas refuses captured arrays where it finds them among the constvars. After the flip there are
none, and the kernel is accepted here, by the interpreter; no other backend is known to take it.

Pass the array as an input of the kernel, which is right in both forms.
"""

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl

table = jnp.arange(8.0)
shape = jax.ShapeDtypeStruct((8,), jnp.float32)


def add(x_ref, table_ref, out_ref):
    """Add what is passed."""
    out_ref[...] = x_ref[...] + table_ref[...]


def add_captured(x_ref, out_ref):
    """Add what is captured."""
    out_ref[...] = x_ref[...] + table


# -- breaks
print(pl.pallas_call(add_captured, out_shape=shape, interpret=True)(jnp.ones(8))[:3])

# -- fixed
print(pl.pallas_call(add, out_shape=shape, interpret=True)(jnp.ones(8), table)[:3])
