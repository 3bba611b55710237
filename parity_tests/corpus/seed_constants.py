"""The examples of JAX's note on closed-over constants, and the cases that it only describes.

Source: JAX's note "Handling of closed-over constants".
"""

import jax
import jax.numpy as jnp
import numpy as np

from parity_tests.program import program


@program
def three_ways_to_make_an_array():
    """A captured JAX array, a captured NumPy array, and a `jnp.full` that is staged out."""
    a_jax_array = jnp.asarray(np.ones(16, np.float32))

    def add_all(x):
        return x + a_jax_array + np.full((16,), 42.0) + jnp.full((16,), 142.0)

    return add_all, (np.arange(16, dtype=np.float32),)


@program
def nullary_returns_captured():
    """A function of no arguments that returns its captured array, as small as an embedded one."""
    const = jnp.asarray(np.array([42.0], np.float32))
    return (lambda: const), ()


@program
def nullary_returns_large_captured():
    """A function of no arguments that returns a captured array too large to be embedded."""
    const = jnp.asarray(np.linspace(0.0, 42.0, 1024, dtype=np.float32))
    return (lambda: const), ()


@program
def used_by_many_equations():
    """One captured array that several equations use: one constant, by its identity."""
    const = jnp.asarray(np.linspace(-1.0, 1.0, 4096, dtype=np.float32))

    def use_often(x):
        return (x + const) * const, x - const

    return use_often, (np.arange(4096, dtype=np.float32),)


@program
def inner_functions_take_subsets():
    """Two inner functions, each of which needs a part of the outer function's constants."""
    a, b, c = (jnp.asarray(row) for row in np.arange(48, dtype=np.float32).reshape(3, 16))

    @jax.jit
    def first_inner(x):
        return x * a + b

    @jax.jit
    def second_inner(x):
        return x * b + c

    def outer(x):
        return first_inner(x) - second_inner(x)

    return outer, (np.ones(16, np.float32),)


@program
def float64_array_in_32_bit_mode():
    """Captured 64-bit NumPy arrays: narrowed, or not, by `jax_enable_x64` at lowering."""
    halves = np.linspace(0.0, 1.0, 33)
    steps = np.arange(33, dtype=np.int64) * 1_000_003

    def narrow(x, n):
        return x * halves, n + steps

    return narrow, (np.float32(3.0), np.int32(7))


@program
def folding_bait():
    """Equations over captured arrays alone, which XLA folds when they are inlined."""
    angles = np.linspace(0.0, 50.0, 2048, dtype=np.float32)

    def apply_window(x):
        window = jnp.exp(-0.1 * angles) * jnp.cos(angles)
        return x * window / jnp.sum(window)

    return apply_window, (np.ones(2048, np.float32),)


@program
def random_bits_beside_captured():
    """A random draw, whose lowering brings constants of its own, beside a captured array."""
    scale = np.linspace(1.0, 2.0, 64, dtype=np.float32)

    def draw(seed):
        return scale * jax.random.uniform(jax.random.key(seed), (64,))

    return draw, (np.uint32(17),)
