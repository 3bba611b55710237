"""The consts of a jaxpr, which held what a function captures, are empty.

kind: tools
off: 1 const, evaluated: 2.0
on: 0 consts, evaluated: 2.0
who: libraries that find, count or replace captured arrays in jaxpr.consts
from: jax-ml/jax#29882: arrays are kept in the equations that use them
by design: captured arrays are in Literals: this is the change itself
way round: look for arrays in the Literals of eqn.invars and jaxpr.outvars as well
"""

import jax
import jax.numpy as jnp

table = jnp.ones(1000)
closed = jax.make_jaxpr(lambda x: x + table)(table)
count = len(closed.consts)
value = jax.core.eval_jaxpr(closed.jaxpr, closed.consts, table)[0][0]
print(count, "const," if count == 1 else "consts,", "evaluated:", value)
