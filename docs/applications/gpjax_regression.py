"""GPJax: the objective of a regression; the data set is captured."""

import gpjax
import jax
import jax.numpy as jnp
import numpy as np


def program():
    """Return the prediction at new places, over 1,000 points that are captured."""
    rng = np.random.default_rng(0)
    places = jnp.array(rng.uniform(-3, 3, (1_000, 1)), jnp.float32)
    data = gpjax.Dataset(X=places, y=jnp.sin(4 * places))
    prior = gpjax.gps.Prior(
        mean_function=gpjax.mean_functions.Zero(), kernel=gpjax.kernels.RBF(n_dims=1)
    )
    posterior = prior * gpjax.likelihoods.Gaussian()
    return jax.jit(lambda new: posterior.predict(new, train_data=data).mean), (places[:50] + 0.01,)
