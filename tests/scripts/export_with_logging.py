"""Export a program and call it, with everything logged.

The arguments are the side and whether constants are hoisted ("True" or "False").
"""

import logging
import sys

import jax.numpy as jnp

import engine

logging.basicConfig(level=logging.DEBUG)
table = jnp.ones(16)


def sin(x):
    return jnp.sin(x) + table


side, hoist = sys.argv[1], sys.argv[2] == "True"
exported = engine.export.export(engine.jit(sin, constants=side), hoist_constants=hoist)(1.0)
exported.call(1.0)
