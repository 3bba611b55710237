"""Diffrax: an equation that is driven by a captured recording."""

import diffrax
import jax
import jax.numpy as jnp
import numpy as np


def program():
    """Return the solution and its start; a recording of 200,000 times is captured."""
    rng = np.random.default_rng(0)
    times = jnp.linspace(0.0, 10.0, 200_000)
    path = diffrax.LinearInterpolation(times, jnp.array(rng.random((200_000, 8), np.float32)))
    term = diffrax.ODETerm(lambda t, y, _: -y + path.evaluate(t))

    def solve(start):
        return diffrax.diffeqsolve(term, diffrax.Tsit5(), 0.0, 1.0, 0.1, start).ys

    return jax.jit(solve), (jnp.zeros(8),)
