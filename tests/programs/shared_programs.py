"""Programs that all four sides treat alike, and one that they print differently."""

import sys

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from parity_tests import program

TABLE = jnp.arange(77.0)


@program(args=(np.float32(2.0),))
def shared(x):
    return lax.cond(x > 0, lambda: TABLE * x, lambda: TABLE) + TABLE


@program(args=(np.float32(2.0),))
def dead(x):
    TABLE + 1
    return x


@program
def keys():
    split = jax.random.split(jax.random.key(0), 8)
    return (lambda x: x + jax.vmap(jax.random.uniform)(split)), (np.float32(2.0),)


@program(args=(np.float32(2.0),))
def other_words(x):
    return 2.0 * x if "engine" in sys.modules else x * 2.0
