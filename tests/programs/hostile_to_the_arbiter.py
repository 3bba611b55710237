"""Programs that end, block or defeat the process of the arbiter, between programs that do not."""

import os
import time

import numpy as np

from parity_tests import program

LOADED_IN = os.getpid()


@program
def ends_the_process():
    os._exit(3)


@program
def hangs():
    time.sleep(3600)


@program
def reads_bits():
    from jax import lax

    return lambda x: lax.bitcast_convert_type(x, np.int32), (np.float32(1.0),)


@program
def process():
    return lambda x: x + LOADED_IN, (np.float32(0.0),)


@program
def third():
    return lambda x: x / 3, (np.float32(1.0),)


@program
def returns_nothing():
    return lambda x: (), (np.float32(1.0),)
