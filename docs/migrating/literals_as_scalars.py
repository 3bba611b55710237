"""The value of a `Literal` is taken for a Python scalar.

Before the flip the values of Literals are Python's and NumPy's scalars, and NumPy arrays without
dimensions. After it they are also `jax.Array`s of any shape, and NumPy arrays of any shape.

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
print([float(atom.val) for atom in operands if isinstance(atom, jax.extend.core.Literal)])
# -- or
found = [a for a in operands if isinstance(a, jax.extend.core.Literal) and a.val == 0]
print(found)

# -- fixed
print([float(value) for value in literals if jnp.ndim(value) == 0])
print([value for value in literals if jnp.ndim(value) == 0 and value == 0])
