"""Optax: a step of a logistic regression whose data the jitted step captures."""

import jax
import jax.numpy as jnp
import numpy as np
import optax


def program():
    """Return the step and its state; 400,000 rows of 256 numbers are captured."""
    rng = np.random.default_rng(0)
    data = jnp.array(rng.random((400_000, 256), np.float32))
    labels = jnp.array(rng.integers(0, 2, 400_000), jnp.float32)
    optimiser = optax.adam(1e-2)
    weights = jnp.zeros(256)

    def loss(weights):
        return optax.sigmoid_binary_cross_entropy(data @ weights, labels).mean()

    def step(weights, state):
        updates, state = optimiser.update(jax.grad(loss)(weights), state)
        return optax.apply_updates(weights, updates), state

    return jax.jit(step), (weights, optimiser.init(weights))
