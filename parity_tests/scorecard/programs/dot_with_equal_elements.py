"""XLA for CPUs folds a captured matrix of equal elements to memory that nothing wrote.

kind: wrong values
off: ... and not 1026.255
on: 1026.255
right off: 1026.255
who: programs that multiply 16 rows or more with a constant matrix, on a CPU
from: docs/findings/dot_with_equal_elements.py, measured
way round: nothing for the flip, which fixes it; today pass the matrix as an argument
"""

import jax
import jax.numpy as jnp

matrix = jnp.full((256, 256), 1e-3)
product = float(jax.jit(lambda x: jnp.tanh(x @ matrix).sum())(jnp.ones((16, 256))))
print("1026.255" if abs(product - 1026.255) < 1e-2 else f"{product} and not 1026.255")
