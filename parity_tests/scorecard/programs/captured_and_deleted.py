"""A captured array is deleted, or donated to another function, between two calls.

kind: fails
off: 1.0 1.0
on: ValueError: INVALID_ARGUMENT: Array has been deleted.
who: programs that free or donate arrays which an older jitted function has captured
from: "Handling of closed-over constants": executables do not contain their constants
by design: executables do not contain their constants
way round: capture a copy made before tracing, jnp.array(a)
"""

import jax
import jax.numpy as jnp

table = jnp.ones(1000)
add_table = jax.jit(lambda x: x + table)
x = jnp.zeros(1000)
before = add_table(x)[0]
table.delete()
print(before, add_table(x)[0])
