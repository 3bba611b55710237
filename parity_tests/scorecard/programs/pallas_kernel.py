"""A Pallas kernel captures an array.

kind: fails
off: ValueError: ... captures constants ... You should pass them as inputs.
on: [1. 2. 3.]
right off: [1. 2. 3.]
who: authors of kernels, in interpret mode; for a TPU it is refused in both modes
from: jax-ml/jax#22746, jax-ml/jax#21557
way round: pass the array as an input of the kernel
"""

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl

table = jnp.arange(8.0) * jnp.ones((8, 1))


def kernel(x, out):
    """Add the table."""
    out[...] = x[...] + table


f = pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct((8, 8), jnp.float32), interpret=True)
print(jax.jit(f)(jnp.ones((8, 8)))[0, :3])
