"""A transfer guard stops a call of a function that captures a NumPy array.

Before the flip the array went to the device inside the compiled program. After it the call passes
it, which is an implicit transfer.

Capture a `jax.Array`.
"""

import jax
import jax.numpy as jnp
import numpy as np

weights = np.arange(100, dtype=np.float32)
x = jnp.ones(100)

# -- breaks
apply = jax.jit(lambda x: x + weights)
with jax.transfer_guard("disallow"):
    print(apply(x).sum())

# -- fixed
on_device = jnp.array(weights)
apply = jax.jit(lambda x: x + on_device)
with jax.transfer_guard("disallow"):
    print(apply(x).sum())
