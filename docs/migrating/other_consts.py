"""A jaxpr is evaluated with other values than its own `consts`.

After the flip there is no place for them: the arrays are in the equations.

Make the array an argument of the function.
"""

import jax
import jax.numpy as jnp

table = jnp.arange(100.0)

# -- breaks
closed_jaxpr = jax.make_jaxpr(lambda x: x + table)(1.0)
[result] = jax.core.eval_jaxpr(closed_jaxpr.jaxpr, [2 * table], 1.0)
print(result[:3])

# -- fixed
closed_jaxpr = jax.make_jaxpr(lambda table, x: x + table)(table, 1.0)
[result] = jax.core.eval_jaxpr(closed_jaxpr.jaxpr, closed_jaxpr.consts, 2 * table, 1.0)
print(result[:3])
