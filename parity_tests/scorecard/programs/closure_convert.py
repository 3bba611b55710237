"""Traced.closure_convert() and with_consts_as_arg() return no captured array after the flip.

kind: tools
off: closure_convert: 2 arrays, with_consts_as_arg: 2 arrays
on: closure_convert: 0 arrays, with_consts_as_arg: 0 arrays
who: code that asks JAX for the arrays that a function captures, to pass or to shard them
from: jax-ml/jax#39940
code: jax/_src/stages.py, Traced.closure_convert: reads the consts of the jaxpr alone
way round: find captured arrays in the Literals of the jaxpr as well
"""

import jax
import jax.numpy as jnp

a, b = jnp.arange(100.0), jnp.ones(100)
traced = jax.jit(lambda x: x * a + b).trace(a)
if hasattr(traced, "closure_convert"):
    converted, passed = traced.closure_convert()[0], traced.with_consts_as_arg()[0]
    print(f"closure_convert: {len(converted)} arrays, with_consts_as_arg: {len(passed)} arrays")
else:
    print("not in this release")
