"""`Traced.closure_convert()` and `with_consts_as_arg()` return no arrays.

They are in JAX 0.11.1 and newer. Both return the constvars of the jaxpr, and after the flip there
are none: the first program then changes nothing, and says nothing.

Make the arrays that are to change arguments of the function.
"""

import jax
import jax.numpy as jnp

table = jnp.arange(100.0)

# -- breaks
captured, converted = jax.jit(lambda x: x + table).trace(1.0).closure_convert()
print(converted([2 * each for each in captured], 1.0)[:3])

# -- fixed
print(jax.jit(lambda table, x: x + table)(2 * table, 1.0)[:3])
