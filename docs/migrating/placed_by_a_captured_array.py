"""The result lies elsewhere, and what uses it next is refused.

The argument had no place of its own, so before the flip the result lay on the default device.
After it the captured array decides, and the result is committed to the device of that array.

Capture an array that is not committed, or say where the result is to be (`out_shardings`).
"""

import jax
import jax.numpy as jnp

here, there = jax.devices()[:2]
table = jax.device_put(jnp.arange(100.0), there)
other = jax.device_put(jnp.ones(100), here)

# -- breaks
scaled = jax.jit(lambda x: x * table)(2.0)
print((scaled + other)[:3])

# -- fixed
table = jax.device_put(table, here)
scaled = jax.jit(lambda x: x * table)(2.0)
print((scaled + other)[:3])
