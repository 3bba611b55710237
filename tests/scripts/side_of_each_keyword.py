"""Print the side of a program, its consts and its const args: for no keyword, and for each side."""

import jax.numpy as jnp

import engine

table = jnp.arange(49.0)
scalar = jnp.float32(3.0)
for constants in (None, "legacy", "simplified"):
    traced = engine.jit(lambda x: x + table * scalar, constants=constants).trace(1.0)
    print(traced.side, len(traced.consts), len(traced.lower().const_args))
