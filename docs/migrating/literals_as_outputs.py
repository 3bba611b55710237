"""An interpreter of jaxprs looks its outputs up in its environment, or puts them into a set.

A captured array that a function returns is a `Literal` among `outvars` after the flip. It has no
place in an environment, and no hash.

Read outputs as operands are read; collect variables alone.
"""

import jax
import jax.extend.core
import jax.numpy as jnp

table = jnp.arange(100.0)
closed_jaxpr = jax.make_jaxpr(lambda x: (x, table))(1.0)
jaxpr = closed_jaxpr.jaxpr
values = dict(zip(jaxpr.constvars, closed_jaxpr.consts, strict=True)) | {jaxpr.invars[0]: 1.0}

# -- breaks
print([jnp.shape(values[atom]) for atom in jaxpr.outvars])
# -- or
print(jaxpr.invars[0] in set(jaxpr.outvars))


# -- fixed
def read(atom):
    """Return the value of an operand or output."""
    return atom.val if isinstance(atom, jax.extend.core.Literal) else values[atom]


print([jnp.shape(read(atom)) for atom in jaxpr.outvars])
variables = {atom for atom in jaxpr.outvars if isinstance(atom, jax.extend.core.Var)}
print(jaxpr.invars[0] in variables)
