"""`Traced.closure_convert()` and `with_consts_as_arg()` return no arrays.

They are in JAX 0.11.1 and newer. Both return the constvars of the jaxpr, and after the flip there
are none.

Collect the Literals as well.
"""

import jax
import jax.extend.core
import jax.numpy as jnp

table = jnp.arange(100.0)
traced = jax.jit(lambda x: x + table).trace(1.0)

# -- breaks
print(len(traced.closure_convert()[0]))

# -- mended
jaxpr = traced.jaxpr.jaxpr
operands = [atom for eqn in jaxpr.eqns for atom in eqn.invars]
literals = [atom.val for atom in operands if isinstance(atom, jax.extend.core.Literal)]
print(len([*traced.jaxpr.consts, *(each for each in literals if jnp.ndim(each) > 0)]))
