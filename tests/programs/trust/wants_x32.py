"""A module whose program must not see what another module set for its process."""

import jax
import numpy as np

from parity_tests import program

TABLE = np.arange(77, dtype=np.float32)


@program(args=(np.float32(2.0),))
def wants_x32(x):
    assert not jax.config.jax_enable_x64
    return x * TABLE
