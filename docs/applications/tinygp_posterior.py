"""tinygp: the likelihood of a Gaussian process; the observations are captured."""

import jax
import jax.numpy as jnp
import numpy as np
from tinygp import GaussianProcess, kernels


def program():
    """Return the likelihood and its parameters, over 1,500 points."""
    rng = np.random.default_rng(0)
    places = jnp.array(np.sort(rng.uniform(0, 10, 1_500)), jnp.float32)
    seen = jnp.sin(places) + jnp.array(rng.normal(scale=0.1, size=1_500), jnp.float32)

    def likelihood(scale):
        kernel = kernels.Matern32(scale)
        return GaussianProcess(kernel, places, diag=0.05).log_probability(seen)

    return jax.jit(likelihood), (jnp.float32(1.5),)
