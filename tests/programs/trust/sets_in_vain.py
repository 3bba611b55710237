"""A module that sets variables which its own process does not read either: JAX is there already."""

import os

import jax
import numpy as np

from parity_tests import program

os.environ["JAX_ENABLE_X64"] = "1"
os.environ["JAX_COMPILATION_CACHE_DIR"] = "nowhere"
TABLE = np.arange(77, dtype=np.float32)


@program(args=(np.float32(2.0),))
def set_in_vain(x):
    assert not jax.config.jax_enable_x64
    return x * TABLE
