"""Call one program on each device, and check that its const args are marked once."""

import jax
import jax.numpy as jnp

import engine

table, shift = jnp.ones((7, 7)), jnp.full((7, 7), 2.0)
jitted = engine.jit(lambda x, y, z: x * table + y + z + shift, constants="simplified")
for device in jax.devices():
    x = jax.device_put(table, device)
    assert jitted(x, x, x).devices() == {device}
    text = jitted.lower(x, x, x).as_text()
    assert text.count("jax.const") == 2, text
