"""A program that can be traced, and ends its process when it runs."""

import os

import jax
import numpy as np

from parity_tests import program

TABLE = np.ones(77, np.float32)


@program(args=(TABLE,))
def ends(x):
    jax.debug.callback(lambda: os._exit(3))
    return x * TABLE
