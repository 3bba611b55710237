"""NetKet: the energy of a state over the whole Hilbert space, whose configurations are captured."""

import jax
import jax.numpy as jnp
import netket


def program():
    """Return the norm and the parameters of a restricted Boltzmann machine on 18 spins."""
    space = netket.hilbert.Spin(s=1 / 2, N=18)
    states = jnp.asarray(space.all_states(), jnp.float32)
    model = netket.models.RBM(alpha=1, param_dtype=jnp.float32)
    parameters = model.init(jax.random.key(0), states[:1])

    def norm(parameters):
        return jax.scipy.special.logsumexp(2 * model.apply(parameters, states))

    return jax.jit(norm), (parameters,)
