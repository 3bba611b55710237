"""Lowered.in_avals raises for a program that captures an array; Compiled.in_avals does not.

kind: tools
off: compiled: 1 lowered: 1
on: compiled: 1 ValueError: Too many leaves for PyTreeDef; expected 1.
who: tools that check or convert the arguments of lowered programs
from: jax-ml/jax#36141
code: jax/_src/stages.py, Lowered.in_avals: const args are among its avals and not in its tree
way round: read jax.tree.leaves(lowered.args_info), or Compiled.in_avals
"""

import jax
import jax.numpy as jnp

table = jnp.arange(1000.0)
lowered = jax.jit(lambda x: x + table).lower(table)
print("compiled:", len(jax.tree.leaves(lowered.compile().in_avals)))
print("lowered:", len(jax.tree.leaves(lowered.in_avals)))
