"""A captured array lies on other devices than the arguments.

Before the flip a captured array has no place: its values are compiled for wherever the arguments
are. After it the array takes part in placement as an argument does.

Put it where the arguments are, before it is captured.
"""

import jax
import jax.numpy as jnp

here, there = jax.devices()[:2]
table = jax.device_put(jnp.arange(100.0), there)
x = jax.device_put(1.0, here)

# -- breaks
print(jax.jit(lambda x: x + table)(x)[:3])

# -- fixed
table = jax.device_put(table, here)
print(jax.jit(lambda x: x + table)(x)[:3])
