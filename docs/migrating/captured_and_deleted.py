"""A captured array is deleted, or was donated to another call, before a later call.

Before the flip the values are in the compiled program, which does not need the array any more.
After it each call passes the array.

Delete, or donate, what no function captures: an argument or a copy.
"""

import jax
import jax.numpy as jnp

scale = jnp.arange(100.0)
apply = jax.jit(lambda x: x * scale)
apply(1.0)

# -- breaks
scale.delete()
print(apply(2.0)[:3])

# -- fixed
copy = jnp.array(scale)
copy.delete()
print(apply(2.0)[:3])
