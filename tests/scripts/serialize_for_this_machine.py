"""Write a compiled program to stdout, as bytes."""

import sys

import jax.numpy as jnp

import engine

lowered = engine.jit(lambda x: x + 1).lower(jnp.ones(7))
sys.stdout.buffer.write(engine.serialize_executable.serialize(lowered.compile()))
