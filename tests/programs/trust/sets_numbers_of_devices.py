"""A module that sets JAX before JAX has started, which raises afterwards."""

import jax
import numpy as np

from parity_tests import program

jax.config.update("jax_num_cpu_devices", 3)


@program(args=(np.float32(2.0),))
def by_the_configuration(x):
    return x * np.arange(77.0)
