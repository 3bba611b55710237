"""A captured int2 array is concatenated.

kind: fails
off: (2000,)
on: died of SIGABRT
who: quantised models on a CPU; XLA aborts in the same way where the array is an argument
from: measured
way round: capture int8, and convert inside
"""

import jax
import jax.numpy as jnp

table = jnp.zeros(1000, jnp.int2)
print(jax.jit(lambda: jnp.concatenate([table, table]))().shape)
