"""A captured int64 array of NumPy's is converted while it is traced, and passed as what it became.

kind: tools
off: no const arg
on: a const arg of float32
right on: a const arg of int64
who: JAX's own tests of x64 ahead of time (aot_test, test_with_constants_enable_x64, use_np), red
    with the flag on; results are right
from: JAX commit f7337b2648
way round: none is needed for results
"""

import re

import jax
import numpy as np

table = np.arange(16, dtype=np.int64)
with jax.enable_x64(True):
    text = jax.jit(lambda: jax.lax.convert_element_type(table, np.float32)).lower().as_text()
[found] = re.findall(r"tensor<16x([if])(\d+)> \{jax.const = true", text) or [None]
kinds = {"i": "int", "f": "float"}
print(f"a const arg of {kinds[found[0]]}{found[1]}" if found else "no const arg")
