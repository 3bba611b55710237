"""Print for each side whether a table of our program is inlined into a program of `jax.jit`."""

import jax
import jax.numpy as jnp

import engine

table = jnp.arange(49.0)
for constants in engine.SIDES:
    inner = engine.jit(lambda x: x * table + table, constants=constants)
    text = jax.jit(lambda x, inner=inner: inner(x) + table).lower(1.0).as_text()
    print("tensor<49xf32>" in text.split("stablehlo.constant", 1)[-1].split("\n")[0])
