"""A module that starts a thread which does not end, with a program that works and one that ends."""

import os
import threading
import time

import jax
import numpy as np

from parity_tests import program

threading.Thread(target=time.sleep, args=(3600,)).start()
TABLE = np.ones(77, np.float32)


@program(args=(1.0,))
def works(x):
    return x * TABLE


@program(args=(1.0,))
def ends(x):
    jax.debug.callback(lambda: os._exit(3))
    return x * TABLE
