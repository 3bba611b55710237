"""The program whose proof shows which form each side really produces."""

import jax
import numpy as np

from parity_tests.program import program

_table = np.arange(64, dtype=np.float32)
_table.flags.writeable = False  # a writeable array would be a hazard of its own


@program(args=(np.ones(64, np.float32),))
def captured_twice(x: jax.Array) -> jax.Array:
    """Use a captured array of 256 bytes in a program, and in a function within it."""
    shifted: jax.Array = jax.jit(lambda y: y + _table)(x)
    return shifted * _table
