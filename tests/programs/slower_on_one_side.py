"""A program that takes longer to trace on one side, and one that fails."""

import os
import time

from parity_tests import program

SLOW = os.environ["JAX_USE_SIMPLIFIED_JAXPR_CONSTANTS"] == "1"


@program(args=(1.0,))
def slower_to_trace(x):
    time.sleep(0.2 if SLOW else 0.01)
    return x + 1


@program(args=(1.0,))
def raises(x):
    raise ValueError
