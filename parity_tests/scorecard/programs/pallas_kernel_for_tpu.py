"""A Pallas kernel for a TPU captures an array: the error no longer says so.

kind: fails
off: ValueError: The kernel function in the pallas_call ... You should pass them as inputs.
on: TypeError: Only scalar arrays can be converted to Python scalars; got arr.ndim=2
who: authors of kernels, who are told what to do in one mode alone
from: jax-ml/jax#22746: captured arrays are refused on purpose
code: jax/_src/pallas/pallas_call.py, _trace_kernel_to_jaxpr: looks for consts of the jaxpr alone
way round: pass the array as an input of the kernel
"""

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl

table = jnp.ones((8, 128))


def kernel(x, out):
    """Add the table."""
    out[...] = x[...] + table


f = pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct((8, 128), jnp.float32))
print(len(jax.jit(f).trace(table).lower(lowering_platforms=("tpu",)).as_text()) > 0)
