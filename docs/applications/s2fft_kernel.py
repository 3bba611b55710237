"""s2fft: a spherical harmonic transform; its precomputed kernel is captured."""

import jax
import jax.numpy as jnp
import numpy as np
from s2fft.precompute_transforms import construct, spherical

BAND = 128


def program():
    """Return the forward transform and a field on the sphere."""
    kernel = jnp.array(construct.spin_spherical_kernel(BAND, 0, False, "mw", True), jnp.float32)
    field = np.random.default_rng(0).normal(size=(BAND, 2 * BAND - 1)).astype(np.complex64)

    def transform(field):
        return spherical.forward_transform_jax(field, kernel, BAND, "mw", False, 0, None)

    return jax.jit(transform), (jnp.array(field),)
