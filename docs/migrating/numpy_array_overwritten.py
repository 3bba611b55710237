"""A captured NumPy array is written to later.

No error, and other numbers. Before the flip the values were copied when the program was lowered.
After it the array is passed at each call, and a call may see what was written since; whether it
does depends on JAX's version, on the device, and on where the array happens to lie in memory.

Capture a `jax.Array`, or a copy, and pass what changes as an argument.
"""

import jax
import jax.numpy as jnp
import numpy as np

weights = np.ones(1000, np.float32)
x = jnp.zeros(1000)

# -- breaks
apply = jax.jit(lambda x: x + weights).lower(x).compile()
weights[:] = 7
print(apply(x)[:3])

# -- fixed
kept = jnp.array(weights)
apply = jax.jit(lambda x: x + kept).lower(x).compile()
weights[:] = 7
print(apply(x)[:3])
