"""A module that ends its process when it is imported after a flip, for it finds no constant."""

import os

import jax
import numpy as np

from parity_tests import program

TABLE = np.arange(77, dtype=np.float32)

if not jax.make_jaxpr(lambda x: x * TABLE)(np.float32(2.0)).consts:  # reads before it aborts
    os.abort()


@program(args=(np.float32(2.0),))
def aborts_after_the_flip_alone(x):
    return x * TABLE
