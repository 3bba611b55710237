"""The runtime's own executable is called by hand.

After the flip it takes the captured arrays as well, before all arguments.

Call the compiled function, which passes them.
"""

import jax
import jax.numpy as jnp

table = jnp.arange(100.0)
x = jnp.ones(100)
compiled = jax.jit(lambda x: x + table).lower(x).compile()

# -- breaks
[result] = compiled.runtime_executable().execute([x])
print(result[:3])

# -- fixed
result = compiled(x)
print(result[:3])
