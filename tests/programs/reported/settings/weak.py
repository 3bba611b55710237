"""A program whose import and call fail under the settings of the module before it."""

import jax.numpy as jnp
import numpy as np

from parity_tests import program

ROWS = jnp.ones((2, 3)) + np.arange(3)


@program(args=(np.ones(3, np.int32),))
def adds_to_rows(x):
    return x + ROWS
