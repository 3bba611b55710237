"""A program that counts what JAX's persistent cache has; a variable names its folder."""

import pathlib

import jax
import jax.numpy as jnp
import numpy as np

from parity_tests import program

FOLDER = pathlib.Path(jax.config.jax_compilation_cache_dir)
TABLES = [np.arange(64, dtype=np.float32) + k for k in range(3)]


def entries():
    return len([*FOLDER.glob("*-cache")])


@program
def of_closures():
    """Legacy has an executable for each table, stock simplified one for all."""

    def count(x):
        before = entries()
        for table in TABLES:
            jax.jit(lambda x, table=table: x * jnp.asarray(table)).lower(x).compile()
        return entries() - before

    return count, (jnp.ones(64),)
