"""Small programs to choose from: by name, by tag, and one of them fails after the flip."""

import os

import numpy as np

from parity_tests import program

SIMPLIFIED = os.environ["JAX_USE_SIMPLIFIED_JAXPR_CONSTANTS"] == "1"
X = (np.float32(2.0),)


@program(args=X, tags=("quick",))
def add_one(x):
    return x + 1


@program(args=X, tags=("slow", "prng"))
def add_two(x):
    return x + 2 * (1.5 if SIMPLIFIED else 1.0)


@program(args=X, name="scan under grad")
def scan_under_grad(x):
    return x * 3
