"""A captured NumPy array goes to the device when the function is called, not when it is compiled.

kind: fails
off: (1000,)
on: jax.errors.JaxRuntimeError: INVALID_ARGUMENT: Disallowed host-to-device transfer: ...
who: programs that run under jax.transfer_guard("disallow")
from: "Handling of closed-over constants": const args are passed in each call
way round: capture a jax.Array, jnp.asarray(a), made before the guard
"""

import jax
import jax.numpy as jnp
import numpy as np

table = np.arange(1000, dtype=np.float32)
x = jnp.ones(1000)
with jax.transfer_guard("disallow"):
    print(jax.jit(lambda x: x + table)(x).shape)
