"""Prints the module of a program that captures three arrays, each of a length of its own."""

import jax
import jax.numpy as jnp

FIRST, SECOND, THIRD = jnp.ones(33), jnp.ones(35), jnp.ones(37)


@jax.jit
def step(x):
    y = jnp.concatenate([x, FIRST])
    return jnp.concatenate([y, SECOND]), x @ THIRD


print(step.lower(jnp.ones(37)).as_text())
