"""Traced.closure_convert() leaves out what an inner jitted function captures.

kind: tools
off: [0. 3. 6.] and not [0. 4. 8.]
on: [0. 2. 4.] and not [0. 4. 8.]
right off: [0. 4. 8.]
who: code that replaces the arrays that a function captures: some keep their old values
from: jax-ml/jax#39940
code: jax/_src/stages.py, Traced.closure_convert: reads the consts of the outermost jaxpr alone
way round: find captured arrays in the consts and the Literals of inner jaxprs as well
"""

import jax
import jax.numpy as jnp

table = jnp.arange(1000.0)
inner = jax.jit(lambda x: x * table)
traced = jax.jit(lambda x: inner(x) + table).trace(table)
if hasattr(traced, "closure_convert"):
    consts, function = traced.closure_convert()
    result = function([2 * each for each in consts], jnp.ones(1000))[:3]
    print(result if result[1] == 4 else f"{result} and not [0. 4. 8.]")
else:
    print("not in this release")
