"""NumPyro: the density of a model whose observations are captured."""

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
from numpyro.infer.util import log_density


def program():
    """Return the density and its parameters; 1,000,000 rows of 50 numbers are captured."""
    rng = np.random.default_rng(0)
    data = jnp.array(rng.random((1_000_000, 50), np.float32))
    seen = jnp.array(rng.random(1_000_000, np.float32))

    def model():
        weights = numpyro.sample("weights", dist.Normal(jnp.zeros(50), 1.0).to_event(1))
        numpyro.sample("seen", dist.Normal(data @ weights, 1.0), obs=seen)

    return jax.jit(lambda weights: log_density(model, (), {}, {"weights": weights})[0]), (
        jnp.zeros(50),
    )
