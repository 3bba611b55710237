"""Compiled.in_avals raises for a program that captures an array; Lowered.in_avals does not.

kind: tools
off: Lowered.in_avals: 1, Compiled.in_avals: 1
on: ValueError: Too many leaves for PyTreeDef; expected 1.
who: tools that check or convert the arguments of compiled programs
from: jax-ml/jax#36141
way round: read jax.tree.leaves(lowered.args_info)
"""

import jax
import jax.numpy as jnp

table = jnp.arange(1000.0)
lowered = jax.jit(lambda x: x + table).lower(table)
lengths = [len(jax.tree.leaves(each.in_avals)) for each in (lowered, lowered.compile())]
print("Lowered.in_avals: {}, Compiled.in_avals: {}".format(*lengths))
