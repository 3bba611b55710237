"""Captured random keys; a typed key is a constvar in stock JAX even in the simplified mode."""

import jax
import jax.numpy as jnp
import numpy as np

from parity_tests.program import program


def _key_data():
    return np.array([0x12345678, 0x9ABCDEF0], np.uint32)


@program
def raw_key_wrapped_inside():
    """Raw key data is captured and becomes a typed key while tracing."""
    data = jnp.asarray(np.tile(_key_data(), (8, 1)))

    def draw(step):
        keys = jax.vmap(lambda row: jax.random.fold_in(jax.random.wrap_key_data(row), step))(data)
        return jax.vmap(jax.random.bits)(keys)

    return draw, (np.int32(3),)


@program
def legacy_raw_key():
    """A captured key of the old kind, an array of two unsigned integers."""
    key = jnp.asarray(_key_data())

    def draw(step):
        return jax.random.bits(jax.random.fold_in(key, step), (16,))

    return draw, (np.int32(3),)


@program
def key_made_inside():
    """A key made from a number while tracing, beside a captured array."""
    scale = np.linspace(1.0, 2.0, 16, dtype=np.float32)

    def draw(step):
        key = jax.random.fold_in(jax.random.key(7), step)
        return scale * jax.random.uniform(key, (16,))

    return draw, (np.int32(3),)


@program(tags=("prng",))
def typed_key_captured():
    """A captured typed key, folded with the argument."""
    key = jax.random.wrap_key_data(jnp.asarray(_key_data()))

    def draw(step):
        return jax.random.bits(jax.random.fold_in(key, step), (16,))

    return draw, (np.int32(3),)


@program(tags=("prng",))
def typed_keys_captured():
    """A captured array of typed keys, one for each row of a dropout mask."""
    keys = jax.random.wrap_key_data(jnp.asarray(np.arange(16, dtype=np.uint32).reshape(8, 2)))

    def dropout(x):
        masks = jax.vmap(lambda key: jax.random.bernoulli(key, 0.5, (32,)))(keys)
        return jnp.where(masks, x, 0.0)

    return dropout, (np.arange(256, dtype=np.float32).reshape(8, 32),)
