"""Programs whose forms part, or seem to; the place of `gated` is what a search has to hold."""

import jax
import jax.numpy as jnp
import numpy as np

WEIGHTS = jnp.asarray(np.arange(16.0, dtype=np.float32).reshape(4, 4))
BIAS = np.linspace(0.0, 1.0, 64, dtype=np.float32).reshape(16, 4)
X = jnp.ones((4, 4))


def gated():
    """`vmap` repeats what a branch captures, in legacy for each row, and batches the dot."""

    def gate(x):
        return jax.lax.cond(jnp.sum(x) < 1.0, lambda: jnp.tanh(x @ WEIGHTS), lambda: x * BIAS[0])

    return jax.vmap(lambda row, c: gate(row) * c), (X, BIAS[:4])


def gated_alone():
    return jax.vmap(lambda x: jax.lax.cond(x[0] < 1, lambda: x @ WEIGHTS, lambda: x)), (X,)


def gated_otherwise():
    """It parts in another operation."""
    return jax.vmap(lambda x: jax.lax.cond(x[0] < 1, lambda: jnp.cumsum(BIAS[1]), lambda: x)), (X,)


def drawn_anew():
    """No two processes have one program, whatever the flag is."""
    captured = np.random.default_rng().normal(size=(4, 4))
    return (lambda x: jnp.tanh(x @ captured)), (X,)


def alike():
    return (lambda x: x @ WEIGHTS), (X,)
