"""What depends on captured arrays alone is computed in each call, which XLA did while it compiled.

kind: cost
off: 0 sorts in the compiled program
on: 1 sort in the compiled program
who: programs that sort, transpose or factorise what they capture; in return they compile faster
from: jax-ml/jax#30180: with inlined constants XLA's constant folding is slow, and changes numerics
by design: XLA does not know values that are passed; that it compiles faster is what the flip is for
way round: compute it before tracing, and capture the result
"""

import jax
import jax.numpy as jnp

table = jnp.sin(jnp.arange(1000.0))
compiled = jax.jit(lambda x: x + jnp.sort(table)).lower(table).compile()
count = compiled.as_text().count(" sort(")
print(count, "sort" if count == 1 else "sorts", "in the compiled program")
