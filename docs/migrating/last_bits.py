"""Results differ in their last bits from those of before.

No error. Before the flip XLA may compute what depends on captured arrays alone while it compiles,
and rounds otherwise there than in a compiled program, as with `exp` here. After the flip nothing
is folded.

Compare with a tolerance. What was stored before the flip, exact to the bit, is stored anew.
"""

import jax
import jax.numpy as jnp
import numpy as np

table = jnp.array(np.random.default_rng(9).normal(size=23), jnp.float32)
captured = jax.jit(lambda: jnp.exp(table))()
passed = jax.jit(jnp.exp)(table)

# -- breaks
print("equal to the bit:", np.array_equal(captured, passed))

# -- fixed
print("equal:", np.allclose(captured, passed, rtol=1e-6))
