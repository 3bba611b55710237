"""Fixed values for the weights of library models.

A library's own initialisers draw through JAX, compiled by the very pipeline under test, and take
longer than the program itself. The models of the corpus are therefore built abstractly, and filled
from here.
"""

import jax
import jax.numpy as jnp
import numpy as np


def fill(tree, seed):
    """Return `tree` with an array of fixed values in the place of each array or abstract array."""
    rng = np.random.default_rng(seed)

    def value(leaf):
        if not isinstance(leaf, jax.ShapeDtypeStruct | jax.Array | np.ndarray):
            return leaf
        return jnp.asarray(rng.normal(0.0, 0.3, leaf.shape).astype(leaf.dtype))

    return jax.tree.map(value, tree)


def batch(seed, *shape):
    """Return a float32 NumPy array of the given shape, to be used as an example argument."""
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)
