"""A compiled program that captures an array cannot be serialized.

Before the flip the values are in the executable. After it they would be arguments that the file
does not have, and JAX refuses.

Pass the array as an argument, or export the function (`jax.export`), which keeps captured arrays
in the file.
"""

import jax
import jax.numpy as jnp
from jax.experimental.serialize_executable import serialize

table = jnp.arange(100.0)
x = jnp.ones(100)

# -- breaks
payload, *_ = serialize(jax.jit(lambda x: x + table).lower(x).compile())
print(len(payload) > 0)

# -- fixed
payload, *_ = serialize(jax.jit(lambda x, table: x + table).lower(x, table).compile())
print(len(payload) > 0)
