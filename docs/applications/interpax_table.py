"""interpax: interpolation in a captured table of half a gigabyte."""

import jax
import jax.numpy as jnp
import numpy as np
from interpax import interp3d

SIZE = 500


def program():
    """Return the interpolation and 1,000 points; float32[500, 500, 500] is captured."""
    rng = np.random.default_rng(0)
    axis = jnp.linspace(0.0, 1.0, SIZE)
    table = jnp.array(rng.random((SIZE, SIZE, SIZE), np.float32))
    points = jnp.array(rng.random((3, 1_000), np.float32))
    return jax.jit(lambda p: interp3d(*p, axis, axis, axis, table, method="linear")), (points,)
