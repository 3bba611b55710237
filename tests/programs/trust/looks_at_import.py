"""A module that looks at the flag and at constants when it is imported, and decides nothing."""

import jax
import numpy as np

from parity_tests import program

TABLE = jax.numpy.arange(77.0)

assert jax.config.jax_use_simplified_jaxpr_constants in (True, False)
assert len(jax.make_jaxpr(lambda x: x * TABLE)(np.float32(2.0)).consts) < 2


@program(args=(np.float32(2.0),))
def without_a_decision_at_import(x):
    return x * TABLE
