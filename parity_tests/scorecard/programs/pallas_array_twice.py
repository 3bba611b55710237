"""One array that a Pallas kernel captures, and the function around it, is passed twice.

kind: cost
off: ValueError: The kernel function in the pallas_call ... You should pass them as inputs.
on: 2 const args
right on: 1 const arg
who: authors of kernels, in interpret mode
from: "Handling of closed-over constants": const args are unique by the identity of the array
code: jax/_src/core.py, jaxpr_const_args: goes by the id of the Literal, in bodies of the array
way round: pass the array as an input of the kernel
"""

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl

table = jnp.sin(jnp.arange(1000.0))


def kernel(x, out):
    """Add the table."""
    out[...] = x[...] + table


f = pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct((1000,), jnp.float32), interpret=True)
text = jax.jit(lambda x: f(x) * table).lower(table).as_text()
count = text.partition("->")[0].count("jax.const = true")
print(count, "const arg" if count == 1 else "const args")
