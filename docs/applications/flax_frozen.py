"""Flax: inference with frozen weights that the jitted function captures."""

import flax.linen as nn
import jax
import jax.numpy as jnp


class Model(nn.Module):
    """Dense layers of 4,096."""

    @nn.compact
    def __call__(self, x):
        """Apply six layers."""
        for _ in range(6):
            x = nn.relu(nn.Dense(4_096)(x))
        return nn.Dense(10)(x)


def program():
    """Return the inference and a batch of 8; 403 MB of weights are captured."""
    model, x = Model(), jnp.ones((8, 4_096))
    weights = model.init(jax.random.key(0), x)
    return jax.jit(lambda x: model.apply(weights, x)), (x,)
