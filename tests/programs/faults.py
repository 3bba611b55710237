"""Programs of planted faults: most differ between the sides of JAX's flag, crash, hang or raise."""

import os
import time

import jax.numpy as jnp
import numpy as np
from jax import lax

from parity_tests import program

SIMPLIFIED = os.environ["JAX_USE_SIMPLIFIED_JAXPR_CONSTANTS"] == "1"
WEIGHTS = np.arange(77, dtype=np.float32)
X = (np.float32(2.0),)


@program(args=X)
def good(x):
    """Scales captured weights."""
    return {"scaled": x * jnp.asarray(WEIGHTS), "sum": WEIGHTS.sum() + x}


@program(args=X)
def other_value(x):
    return x * (1.5 if SIMPLIFIED else 1.0)


@program(args=X)
def other_rounding(x):
    return x * (1 + 2.0**-23 if SIMPLIFIED else 1.0)


MANY = (np.linspace(0.1, 0.9, 512, dtype=np.float32), np.float32(1000.0))


@program(args=MANY)
def other_order(x, large):
    scale = 5.0 if SIMPLIFIED else 3.0
    return ((x * scale + large) - large) / scale


@program(args=MANY)
def other_order_of_bits(x, large):
    scale = 5.0 if SIMPLIFIED else 3.0
    return ((x * scale + large) - large) / scale, lax.bitcast_convert_type(x, jnp.int32)


@program(args=X)
def other_dtype(x):
    return x.astype(jnp.bfloat16 if SIMPLIFIED else jnp.float32)


@program(args=X)
def other_shape(x):
    return jnp.full((2 if SIMPLIFIED else 3,), x)


@program(args=X)
def other_weak_type(x):
    return jnp.sin(1.0) if SIMPLIFIED else jnp.sin(jnp.float32(1.0))


@program(args=X)
def other_structure(x):
    return (x,) if SIMPLIFIED else [x]


@program(args=X)
def other_equations(x):
    return x + 0.0 if SIMPLIFIED else x


@program(args=X)
def exits(x):
    if SIMPLIFIED:
        print("last words", flush=True)
        os._exit(7)
    return x


@program(args=X)
def aborts(x):
    if SIMPLIFIED:
        os.abort()
    return x


@program(args=X)
def hangs(x):
    if SIMPLIFIED:
        time.sleep(3600)
    return x


@program(args=X)
def raises(x):
    raise LookupError("no such thing\nand more")


@program(args=X)
def raises_on_one_side(x):
    if SIMPLIFIED:
        raise LookupError("no such thing")
    return x


@program(args=X)
def raises_unspeakably(x):
    raise LookupError("no file \udcff.txt")


@program
def factory_raises():
    raise OSError("no data")


@program
def factory_returns_nonsense():
    return 3


@program(args=X)
def last(x):
    print("noise on stdout")
    return x + 1
