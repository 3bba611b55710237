"""The index map of a Pallas kernel captures an array.

kind: fails
off: ValueError: ... must not capture constants: ...
on: [24. 25. 26.]
right off: [24. 25. 26.]
who: authors of kernels, in interpret mode
from: jax-ml/jax#22746
way round: pass the array by scalar prefetch
"""

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl

order = jnp.arange(20)[::-1]


def kernel(x, out):
    """Copy a block."""
    out[...] = x[...]


block = pl.BlockSpec((8,), lambda i: (order[i] - 16,))
f = pl.pallas_call(
    kernel,
    grid=(4,),
    in_specs=[block],
    out_specs=pl.BlockSpec((8,), lambda i: (i,)),
    out_shape=jax.ShapeDtypeStruct((32,), jnp.float32),
    interpret=True,
)
print(jax.jit(f)(jnp.arange(32.0))[:3])
