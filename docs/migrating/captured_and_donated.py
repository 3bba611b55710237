"""A captured array is donated to the call.

The function donates its argument, and the argument is an array that the function captured. Before
the flip the compiled program has a copy of its own; after it the same buffer is passed twice,
once donated.

Capture a copy, which is nobody's argument.
"""

import jax
import jax.numpy as jnp

start = jnp.arange(100.0)

# -- breaks
step = jax.jit(lambda state: state + start, donate_argnums=0)
print(step(start)[:3])

# -- fixed
first = jnp.array(start)
step = jax.jit(lambda state: state + first, donate_argnums=0)
print(step(start)[:3])
