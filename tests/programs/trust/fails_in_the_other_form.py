"""Programs that work in legacy, and fail in ways of their own while simplified is traced.

Each looks whether its captured array is a constvar or a Literal, as code that reads jaxprs does.
"""

import os
import sys
import time

import jax
import numpy as np

from parity_tests import program

TABLE = np.arange(77, dtype=np.float32)
X = (np.float32(2.0),)
KEPT = []


def in_simplified_form(x):
    return not jax.make_jaxpr(lambda y: y * TABLE)(x).consts


@program(args=X)
def raises(x):
    if in_simplified_form(x):
        raise LookupError("no constvar")
    return x * TABLE


@program(args=X)
def exits(x):
    if in_simplified_form(x):
        sys.exit(5)
    return x * TABLE


@program(args=X)
def ends_at_once(x):
    if in_simplified_form(x):
        os._exit(6)
    return x * TABLE


@program(args=X)
def aborts(x):
    if in_simplified_form(x):
        os.abort()
    return x * TABLE


@program(args=X)
def takes_memory(x):
    if in_simplified_form(x):
        KEPT.append(np.ones(2**28, np.float32))
        time.sleep(60)
    return x * TABLE


@program(args=X)
def hangs(x):
    if in_simplified_form(x):
        time.sleep(3600)
    return x * TABLE


@program(args=X)
def works(x):
    """A look-alike: it looks, and works in both forms."""
    return x * TABLE + in_simplified_form(x) * 0
