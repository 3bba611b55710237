"""A program whose outputs tell how often its process has built it."""

import itertools

import numpy as np

from parity_tests import program

builds = itertools.count(1)


@program
def counted():
    number = next(builds)
    return (lambda x: x * number), (np.float32(1.0),)
