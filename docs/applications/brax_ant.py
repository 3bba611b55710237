"""Brax: a step of the ant; the environment captures the system that it simulates."""

import jax
import jax.numpy as jnp
from brax import envs


def program():
    """Return the step, and a state with an action."""
    environment = envs.get_environment("ant", backend="positional")
    state = jax.jit(environment.reset)(jax.random.key(0))
    return jax.jit(lambda state, action: environment.step(state, action).obs), (
        state,
        jnp.zeros(environment.action_size),
    )
