"""A module that sets JAX for its whole process when it is imported, as libraries do."""

import jax
import numpy as np

from parity_tests import program

jax.config.update("jax_enable_x64", True)


@program(args=(np.float64(2.0),))
def first_of_two(x):
    return x * np.arange(77.0)


@program(args=(np.float64(2.0),))
def second_of_two(x):
    return x + np.arange(77.0)
