"""Turned off while JAX runs, the flag leaves captured scalars in Literals.

kind: tools
off: 2 consts, 0 const args
on: 1 const, 0 const args
who: whoever goes back by jax.config.update once the default is flipped, and counts consts
from: measured; JAX decides at import which types can be in Literals
code: the last lines of jax/_src/array.py, run once, at import
way round: set JAX_USE_SIMPLIFIED_JAXPR_CONSTANTS=0 in the environment before JAX is imported
"""

import jax
import jax.numpy as jnp

table, number = jnp.arange(1000.0), jnp.ones(())
jax.config.update("jax_use_simplified_jaxpr_constants", False)
traced = jax.jit(lambda x: x + table - number).trace(table)
consts = len(traced.jaxpr.consts)
args = traced.lower().as_text().count("jax.const = true")
print(consts, "const," if consts == 1 else "consts,", args, "const args")
