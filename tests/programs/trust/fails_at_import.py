"""A module that cannot be imported after a flip, for it reads the flag where nothing is bound."""

import jax
import numpy as np

from parity_tests import program

TABLE = np.arange(77, dtype=np.float32)

if jax.config.jax_use_simplified_jaxpr_constants:  # reads before it raises
    raise RuntimeError("not with simplified constants")


@program(args=(np.float32(2.0),))
def imported_before_the_flip_alone(x):
    return x * TABLE
