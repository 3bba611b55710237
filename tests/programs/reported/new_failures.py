"""Programs that fail when an array is hoisted: in the engine as well, or on stock JAX alone.

Source of `crash`: XLA's CPU compiler aborts on a concatenate of an int2 argument.
"""

import jax
import jax.numpy as jnp
import numpy as np

import engine
from parity_tests import program

packed = jnp.asarray(np.arange(45).reshape(5, 9) % 2).astype(jnp.int2)
other = jnp.arange(100.0)
state = jnp.arange(64.0)
x = jnp.float32(1)


@program(args=(x,))
def crash(x):
    twice = jnp.concatenate([packed, packed])  # the crash
    return twice, x + other


@program
def raises():
    """Either of two arrays fails by itself, and a third does not."""
    here, there = jax.devices()[:2]
    left, right = (jax.device_put(jnp.arange(size), there) for size in (64.0, 65.0))
    ones, fine = jax.device_put(jnp.ones(64), here), jnp.arange(64.0)
    engine.config.update("strict_placement", True)

    def shifted(x):
        a = x + left  # the left one
        b = x[0] + right  # the right one
        return a, b, x + fine

    return shifted, (ones,)


@program
def never_runs():
    table = np.arange(64.0, dtype=np.float32)

    def refuses(value):
        raise ArithmeticError("not today")

    return (lambda x: jax.pure_callback(refuses, x, x) + table), (jnp.ones(64),)


def _step(x):
    moved = x + state  # the donated array is captured
    return moved + other[:64]


donated = program(args=(state,), name="donated")(jax.jit(_step, donate_argnums=0))


@program
def both_donated():
    """Either of two arrays is donated and captured, and makes the call fail."""
    left, right = jnp.arange(64.0), jnp.arange(64.0) + 1
    return jax.jit(lambda x, y: (x + right, y + left), donate_argnums=(0, 1)), (left, right)


@program
def on_two_devices():
    here, there = jax.devices()[:2]
    near, far = jax.device_put(jnp.arange(64.0), here), jax.device_put(jnp.arange(64.0), there)
    x = jax.device_put(jnp.ones(64), here)
    scale = jax.jit(lambda x: x * far)  # far away

    def apart(x):
        return scale(x) + near

    return apart, (x,)


@program
def under_a_guard():
    offsets = np.arange(64.0, dtype=np.float32)
    ones = jax.device_put(np.ones(64, np.float32))
    jax.config.update("jax_transfer_guard_host_to_device", "disallow")

    def moved(x):
        return x + offsets  # the table

    return moved, (ones,)
