"""Programs for the reducer; some hide their symptom among thirty equations and more."""

import os

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import NamedSharding, PartitionSpec

from parity_tests import program

X = np.ones(2048, np.float32)
TABLE = jnp.asarray(np.arange(2048, dtype=np.float32) % 7)
OTHER = np.random.default_rng(0).integers(0, 9, 2048).astype(np.float32)
ANGLES = np.linspace(0.0, 50.0, 2048, dtype=np.float32)
EXACT = (np.exp(ANGLES.astype(np.float64) * -0.1) * 1e8).astype(np.float32)
SIMPLIFIED = os.environ.get("JAX_USE_SIMPLIFIED_JAXPR_CONSTANTS") == "1"


def hay(x, s):
    """Thirty-odd equations in scan, cond, while, jit and checkpoint, the same on all sides."""
    y = jax.jit(lambda a: a * 2 + TABLE)(x)

    def turn(carry, t):
        moved = carry + TABLE * t
        moved = jnp.where(moved > 100, moved - 100, moved)
        return jnp.minimum(moved, 1000.0), moved.max()

    y, maxima = lax.scan(turn, y, jnp.arange(3.0))
    y = lax.cond(s > 1, lambda v: v + OTHER, lambda v: v - OTHER, y)
    _, y = lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1] * 2), (0, y))
    y = jax.checkpoint(lambda v: v + TABLE)(y)
    y = y.at[3].add(1.0)
    return jnp.clip(y, 0, 10), maxima, y[jnp.array([1, 2])]


@program(args=(X, np.float32(2.0)))
def folds(x, s):
    """XLA folds a window of captured angles in legacy alone, and rounds it differently."""

    def windowed(v):
        return v * jnp.exp(jnp.multiply(ANGLES, -0.1))

    return {"hay": hay(x, s), "needle": jax.jit(windowed)(x)}


@program(args=(X,))
def folds_by_itself(x):
    return x * jnp.exp(jnp.multiply(ANGLES, -0.1)) + TABLE


@program(args=(X,))
def folds_and_amplifies(x):
    """Like `folds`; beside it the drift is amplified to a mismatch, which the output then hides."""
    window = jnp.exp(jnp.multiply(ANGLES, -0.1))
    amplified = window * 1e8 - EXACT
    return window * x + jnp.minimum(jnp.abs(amplified), 0.0)


@program(args=(X, np.uint32(2)))
def small_beside_a_key(x, seed):
    """A difference in rounding, scaled down until no output comes near 1.

    The arbiter would find both sides equally good, but it does not judge outputs with infinities.
    """
    window = jnp.exp(jnp.multiply(ANGLES, -0.1))
    small = (window * 1e8 - EXACT) * 1e-9 * x
    return jax.random.key(seed), small.at[0].set(jnp.inf), seed + 1


@program(args=(X, np.float32(2.0)))
def used_twice(x, s):
    """One array in two equations: stock JAX passes it twice."""
    y = lax.cond(s > 1, lambda v: v + OTHER, lambda v: v - OTHER, x)
    return jnp.clip(y, 0, 10), x * TABLE + jnp.sin(TABLE)


@program(args=(X, np.float32(2.0)))
def two_in_a_scan(x, s):
    """Two captured arrays in one body, which a fault may confuse."""

    def turn(carry, t):
        return carry * 0.5 + TABLE * t, (carry - OTHER).sum()

    y = lax.cond(s > 1, lambda v: v + OTHER, lambda v: v - OTHER, x)
    y, sums = lax.scan(turn, jax.jit(lambda v: v * TABLE)(y), jnp.arange(3.0))
    return jnp.tanh(y * s), sums - 1


@program
def two_devices():
    """A captured array on another device than a committed argument: stock simplified refuses."""
    first, second, *_ = jax.devices()
    captured = jax.device_put(TABLE + 1, second)

    def fun(x):
        return jnp.clip(x, 0, 10), lax.fori_loop(0, 3, lambda i, v: v + captured * i, x)

    return fun, (jax.device_put(X, first),)


@program(args=(X,))
def parity(x):
    return x * TABLE


def _by_side(x):
    return np.asarray(x) + SIMPLIFIED


@program(args=(X,))
def guilty_callback(x):
    """The difference is in a Python function, which cannot be written to a file."""
    shape = jax.ShapeDtypeStruct(x.shape, x.dtype)
    return jax.pure_callback(_by_side, shape, x) * 2


@program(args=(X,))
def innocent_callback(x):
    shape = jax.ShapeDtypeStruct(x.shape, x.dtype)
    called = jax.pure_callback(np.asarray, shape, x)
    return called, x * jnp.exp(jnp.multiply(ANGLES, -0.1))


@program(args=(X,))
def another_program(x):
    """Each side traces another program, so no single jaxpr shows the difference."""
    return x * (3.0 if SIMPLIFIED else 2.0)


@program(args=(X,))
def raises(x):
    return x + no_such_name  # noqa: F821


@program
def sharded():
    mesh = jax.make_mesh((2,), ("i",), devices=jax.devices()[:2])
    captured = jax.device_put(TABLE, NamedSharding(mesh, PartitionSpec("i")))
    return (lambda x: x * captured), (X,)


@program
def donates_what_it_captures():
    """Its second argument is donated and captured."""
    table = jnp.asarray(OTHER)
    step = jax.jit(lambda s, x: jnp.sin(s) * x + table, donate_argnums=1)
    return step, (np.float32(2.0), table)
