"""One captured array is passed once for each place that uses it.

kind: cost
off: 0 const args
on: 3 const args
right on: 1 const arg
who: models that use one weight or one table in several places
from: "Handling of closed-over constants": const args are unique by the identity of the array
code: jax/_src/core.py, jaxpr_const_args: goes by the id of the Literal, in bodies of the array
way round: pass the array as an argument
"""

import jax
import jax.numpy as jnp

table = jnp.arange(1000.0)
lowered = jax.jit(lambda x: (x + table) * table - table).lower(table)
count = lowered.as_text().count("jax.const = true")
print(count, "const arg" if count == 1 else "const args")
