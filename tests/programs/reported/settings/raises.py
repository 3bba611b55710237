"""A module that cannot be imported."""

import jax

from parity_tests import program

jax.config.update("jax_enable_x64", True)


@program(args=(1.0,))
def never(x):
    return x


raise ValueError("no licence")
