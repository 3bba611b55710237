"""`in_avals` of a lowered function raises where it captures an array.

JAX counts the captured arrays among the arguments, and the tree of arguments has no place for
them.

Take the avals from `args_info`, or from the compiled function.
"""

import jax
import jax.numpy as jnp

table = jnp.arange(100.0)
lowered = jax.jit(lambda x: x + table).lower(jnp.ones(100))

# -- breaks
print([aval.shape for aval in jax.tree.leaves(lowered.in_avals)])

# -- fixed
print([info.shape for info in jax.tree.leaves(lowered.args_info)])
