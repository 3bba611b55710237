"""The fuser of Pallas takes captured arrays from constvars, and returns none after the flip.

kind: tools
off: 1 value
on: 0 values
who: authors of kernels that are fused by jax.experimental.pallas.fuser; 26 of 78 of JAX's own
    tests in pallas/fuser_block_spec_test are red with the flag on
from: measured, with JAX's own tests
code: jax/_src/pallas/fuser/block_spec.py, _get_fusion_values: reads the constvars of the jaxpr
way round: pass the arrays as arguments of the fusion
"""

import jax
import jax.numpy as jnp
from jax.experimental.pallas import fuser

table = jnp.ones((8, 128))
_, values, _ = fuser.get_fusion_values(
    lambda x: x + table, jax.ShapeDtypeStruct((8, 128), "float32")
)
count = len(jax.tree.leaves(values))
print(count, "value" if count == 1 else "values")
