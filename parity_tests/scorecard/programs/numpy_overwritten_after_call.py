"""A captured NumPy array is read again in later calls, where its memory is aligned as XLA wants it.

kind: wrong values
off: 1.0 1.0
on: 1.0 2.0
who: simulations and data loaders that write to a NumPy buffer in place; the result is silently
    another one, and with other alignment it is not
from: jax-ml/jax#37830 (device_put aliases writeable NumPy arrays)
way round: capture a copy that nobody writes to, jnp.array(a)
"""

import jax
import numpy as np

memory = np.ones(1016, np.float32)
start = -memory.ctypes.data % 64 // 4  # at a multiple of 64 bytes
table = memory[start : start + 1000]
add_table = jax.jit(lambda x: x + table)
x = np.zeros(1000, np.float32)
before = add_table(x)[0]
table[:] = 2
print(before, add_table(x)[0])
