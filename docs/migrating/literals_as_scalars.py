"""The value of a `Literal` is taken for a Python scalar.

Before the flip only scalars are Literals. After it arrays of any shape are.

Ask for the shape first.
"""

import jax
import jax.extend.core
import jax.numpy as jnp

table = jnp.arange(100.0)
jaxpr = jax.make_jaxpr(lambda x: 2.0 * x + table)(1.0).jaxpr
operands = [atom for eqn in jaxpr.eqns for atom in eqn.invars]
literals = [atom.val for atom in operands if isinstance(atom, jax.extend.core.Literal)]

# -- breaks
print([float(value) for value in literals])

# -- mended
print([float(value) for value in literals if jnp.ndim(value) == 0])
