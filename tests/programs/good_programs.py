"""A program without a fault."""

import numpy as np

from parity_tests import program

WEIGHTS = np.arange(77, dtype=np.float32)


@program(args=(np.float32(2.0),))
def good(x):
    return x * WEIGHTS
