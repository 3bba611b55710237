"""Fixed values for the weights of library models.

A library's own initialisers draw random numbers with JAX, through the pipeline under test, and take
longer than the program itself. The corpus therefore builds its models abstractly and fills them
with these values.
"""

import jax
import jax.numpy as jnp
import numpy as np


def fill(tree, seed):
    """Return `tree` with each array, concrete or abstract, replaced by one of fixed values."""
    rng = np.random.default_rng(seed)

    def value(leaf):
        if not isinstance(leaf, jax.ShapeDtypeStruct | jax.Array | np.ndarray):
            return leaf
        return jnp.asarray(rng.normal(0.0, 0.3, leaf.shape).astype(leaf.dtype))

    return jax.tree.map(value, tree)


def batch(seed, *shape):
    """Return a float32 NumPy array of the given shape, for an example argument."""
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)
