"""A captured NumPy array is read when a program is called, and not when it is lowered.

kind: wrong values
off: 1.0
on: 2.0
who: ahead-of-time compilation with buffers that are filled later
from: jax-ml/jax#37830 (device_put aliases writeable NumPy arrays)
way round: capture a copy that nobody writes to, jnp.array(a)
"""

import jax
import numpy as np

table = np.ones(1000, np.float32)
x = np.zeros(1000, np.float32)
compiled = jax.jit(lambda x: x + table).lower(x).compile()
table[:] = 2
print(compiled(x)[0])
