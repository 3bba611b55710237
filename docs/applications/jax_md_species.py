"""JAX-MD: the energy of a mixture; species and the parameters of their pairs are captured."""

import jax
import jax.numpy as jnp
import numpy as np
from jax_md import energy, space


def program():
    """Return the energy and the positions of 1,000 particles."""
    rng = np.random.default_rng(0)
    species = jnp.array(rng.integers(0, 4, 1_000))
    sigma = jnp.array(rng.uniform(0.8, 1.2, (4, 4)), jnp.float32)
    displacement, _ = space.periodic(12.0)
    fun = energy.soft_sphere_pair(displacement, species=species, sigma=(sigma + sigma.T) / 2)
    return jax.jit(fun), (jnp.array(rng.uniform(0, 12, (1_000, 3)), jnp.float32),)
