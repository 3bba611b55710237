"""A captured NumPy array has no sharding, and the call fails.

kind: fails
off: [1. 2. 3.]
on: AttributeError: 'TypedNdArray' object has no attribute 'sharding'
who: nearly everybody, on releases in which the flag was broken
from: jax-ml/jax#37445
way round: capture jnp.asarray(a)
"""

import jax
import numpy as np

table = np.arange(1000, dtype=np.float32)
print(jax.jit(lambda x: x + table)(np.ones(1000, np.float32))[:3])
