"""A test that passes, and fails after the flip: `constparity bisect` names the line.

An agent learns values towards those of a target network, meant to be a copy of its parameters as
they were: `jax.tree.map(jnp.asarray, params)` copies nothing, and the parameters are donated.
"""

import jax
import jax.numpy as jnp
import numpy as np

STATES, ACTIONS, DISCOUNT = 64, 4, 0.9
rng = np.random.default_rng(0)
features = jnp.asarray(rng.normal(size=(256, STATES)), jnp.float32)
rewards = jnp.asarray(rng.normal(size=256), jnp.float32)
actions = jnp.asarray(rng.integers(0, ACTIONS, size=256))


def first_params():
    """Return parameters to begin with."""
    weights = np.random.default_rng(1).normal(size=(STATES, ACTIONS)) * 0.1
    return {"weights": jnp.asarray(weights, jnp.float32), "bias": jnp.zeros(ACTIONS)}


def values(params, states):
    """Return the value of each action in each state."""
    return states @ params["weights"] + params["bias"]


def learner(params):
    """Return a function that takes one step towards the values of a target network."""
    target = jax.tree.map(jnp.asarray, params)

    def loss(params):
        aims = rewards + DISCOUNT * values(target, features).max(axis=-1)
        chosen = jnp.take_along_axis(values(params, features), actions[:, None], axis=-1)[:, 0]
        return jnp.mean((aims - chosen) ** 2)

    def step(params):
        found, gradient = jax.value_and_grad(loss)(params)
        return jax.tree.map(lambda each, slope: each - 0.01 * slope, params, gradient), found

    return jax.jit(step, donate_argnums=0)


def test_values_are_finite():
    found = jax.jit(lambda params: values(params, features))(first_params())
    assert bool(jnp.isfinite(found).all())


def test_the_loss_falls():
    params = first_params()
    step = learner(params)
    losses = []
    for _ in range(5):
        params, loss = step(params)
        losses.append(float(loss))
    assert losses == sorted(losses, reverse=True)
