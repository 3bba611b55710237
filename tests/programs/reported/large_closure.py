"""A table of which a model uses a part, in work that XLA folds while it compiles."""

import jax.numpy as jnp
import numpy as np

from parity_tests import program

table = jnp.asarray(np.random.default_rng(0).random((4_000, 128)), jnp.float32)


@program(args=(jnp.linspace(0.1, 1.0, 128),))
def score(x):
    steps = jnp.cumsum(table[:384], axis=0)
    return (steps.T @ steps) @ (x * jnp.exp(table[0]))
