"""Operands of equations that were variables are Literals of arrays, which have no hash.

kind: tools
off: 2 operands
on: TypeError: unhashable type: 'Literal'
who: interpreters of jaxprs that keep a dict or a set of operands
from: jax-ml/jax#29882: arrays are kept in the equations that use them
by design: captured arrays are in Literals: this is the change itself
way round: ask isinstance(operand, jax.extend.core.Literal) first, and take its val
"""

import jax
import jax.numpy as jnp

table = jnp.ones(1000)
[equation] = jax.make_jaxpr(lambda x: x + table)(table).eqns
print(len(set(equation.invars)), "operands")
