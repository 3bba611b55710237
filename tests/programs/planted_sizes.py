"""A program with one captured array on each side of several embed thresholds."""

import numpy as np

from parity_tests import program

RANDOM = np.random.default_rng(0)  # XLA would make an iota of a range
ARRAYS = [RANDOM.random(length, np.float32) for length in (4, 16, 64, 256)]


@program(args=(np.float32(2.0),))
def four_sizes(x):
    return [x * array for array in ARRAYS]


@program(args=(np.float32(2.0),))
def nothing(x):
    return x
