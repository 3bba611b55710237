"""`closed_jaxpr.consts` is looked up by number, or summed up.

After the flip the list is empty: captured arrays are `Literal`s, among the operands of the
equations.

Collect the Literals as well; the bodies of inner jaxprs have theirs.
"""

import jax
import jax.extend.core
import jax.numpy as jnp

table = jnp.arange(100.0)
closed_jaxpr = jax.make_jaxpr(lambda x: x + table)(1.0)

# -- breaks
print(closed_jaxpr.consts[0][:3])

# -- mended
operands = [atom for eqn in closed_jaxpr.jaxpr.eqns for atom in eqn.invars]
literals = [atom.val for atom in operands if isinstance(atom, jax.extend.core.Literal)]
captured = [*closed_jaxpr.consts, *(each for each in literals if jnp.ndim(each) > 0)]
print(captured[0][:3])
