"""A program that takes a GiB, and one that takes none."""

import time

import numpy as np

from parity_tests import program


@program(args=(1.0,))
def hungry(x):
    memory = np.ones(2**28, np.float32)
    time.sleep(60)
    return x + memory[0]


@program(args=(1.0,))
def modest(x):
    return x
