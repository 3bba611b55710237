"""An export holds an array that several functions capture once for each of them.

kind: cost
off: 2 arrays inlined
on: 1 array inlined
right off: 1 array inlined
who: models that are exported with their weights; the flip fixes it
from: "Handling of closed-over constants": exports do not hoist
way round: pass the arrays as arguments of what is exported
"""

import jax
import jax.numpy as jnp
from jax import export

table = jnp.sin(jnp.arange(1000.0))
scale = jax.jit(lambda x: x * table)
exported = export.export(jax.jit(lambda x: scale(x) + table))(table)
count = exported.mlir_module().count('stablehlo.constant dense<"0x')
print(count, "array inlined" if count == 1 else "arrays inlined")
