"""Outputs are committed to their device because an array that was captured is.

kind: placement
off: committed: False
on: committed: True
who: programs that mix their results with arrays on other devices: an error later, elsewhere
from: "Handling of closed-over constants": const args keep their sharding
way round: capture an array that is not committed, jnp.asarray(np.asarray(a))
"""

import jax
import jax.numpy as jnp

table = jax.device_put(jnp.arange(1000.0), jax.devices()[0])
print("committed:", jax.jit(lambda x: x + table)(jnp.ones(1000)).committed)
