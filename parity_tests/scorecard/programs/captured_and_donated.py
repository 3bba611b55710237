"""An array that a function captures is donated to it as well.

kind: fails
off: [0. 2. 4.]
on: jax.errors.JaxRuntimeError: INVALID_ARGUMENT: Attempt to donate a buffer which is also used ...
who: training loops whose initial state is also captured, as a reference or a default
from: measured; no seed speaks of it
way round: capture a copy made before tracing, jnp.array(a), or do not donate
"""

import jax
import jax.numpy as jnp

start = jnp.arange(1000.0)
step = jax.jit(lambda state: state + start, donate_argnums=0)
print(step(start)[:3])
