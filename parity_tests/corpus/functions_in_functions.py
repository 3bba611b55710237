"""Ways for a captured array to reach a function: calls, objects, containers and arguments."""

import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from parity_tests.program import program


def _x(n=32):
    return np.linspace(0.0, 1.0, n, dtype=np.float32)


@program
def nested_jits_share():
    """One captured array at three levels of nested jit."""
    shared = jnp.asarray(np.arange(32, dtype=np.float32))

    @jax.jit
    def innermost(x):
        return x + shared

    @jax.jit
    def middle(x):
        return innermost(x) * shared

    def outer(x):
        return middle(x) - shared

    return outer, (_x(),)


@program
def inner_jit_called_twice():
    """A jitted helper with a captured array, called twice: traced once, lowered once."""
    weights = np.arange(32, dtype=np.float32)

    @jax.jit
    def helper(x):
        return jnp.sin(x) * weights

    def twice(x):
        return helper(helper(x))

    return twice, (_x(),)


@program
def inner_jit_takes_captured():
    """A captured array handed to a jitted helper as its argument."""
    weights = jnp.asarray(np.arange(32, dtype=np.float32))

    @jax.jit
    def multiply(x, y):
        return x * y

    def outer(x):
        return multiply(x, weights) + multiply(weights, weights)

    return outer, (_x(),)


@program
def inlined_jit():
    """A helper jitted with `inline=True`: its captured array moves into the caller."""
    weights = np.arange(32, dtype=np.float32)

    @functools.partial(jax.jit, inline=True)
    def helper(x):
        return x * weights

    def outer(x):
        return helper(x) + weights

    return outer, (_x(),)


@program
def static_argument_chooses():
    """A static argument of an inner jit chooses which captured table is used."""
    tables = {
        "coarse": np.linspace(0.0, 1.0, 16, dtype=np.float32),
        "fine": np.linspace(0.0, 1.0, 256, dtype=np.float32),
    }

    @functools.partial(jax.jit, static_argnames="which")
    def look_up(index, which):
        return jnp.asarray(tables[which])[index]

    def look_up_in_both(index):
        return look_up(index, which="coarse"), look_up(index, which="fine")

    return look_up_in_both, (np.arange(0, 16, 3, dtype=np.int32),)


@program
def keyword_arguments():
    """Positional and keyword arguments together beside a captured array."""
    weights = np.arange(32, dtype=np.float32)

    def affine(x, *, scale, shift):
        return scale * x * weights + shift["left"] - shift["right"]

    shift = {"left": np.ones(32, np.float32), "right": np.float32(0.5)}
    return affine, (_x(),), {"scale": np.float32(2.0), "shift": shift}


class _Layer(NamedTuple):
    weights: jax.Array
    bias: np.ndarray


@program
def pytree_captured_and_returned():
    """A captured tree of dictionaries and tuples, an argument like it, and a result like both."""
    rng = np.random.default_rng(60)
    frozen = {
        name: _Layer(
            jnp.asarray(rng.random((8, 8), np.float32)), np.full(8, i, np.float32) + rng.random()
        )
        for i, name in enumerate(("first", "second"))
    }

    def update(tree):
        return jax.tree.map(lambda x, f: 0.9 * x + 0.1 * f, tree, frozen)

    return update, (jax.tree.map(np.zeros_like, frozen),)


@program
def returns_captured():
    """A captured array as an output, alone, twice, and beside a computed one."""
    weights = jnp.asarray(np.arange(32, dtype=np.float32))
    names = np.arange(16, dtype=np.int32)

    def outputs(x):
        return weights, {"again": weights, "numpy": names}, x + weights

    return outputs, (_x(),)


@program
def inner_jit_returns_captured():
    """A jitted helper that returns its captured array without touching it."""
    weights = jnp.asarray(np.arange(32, dtype=np.float32))

    @jax.jit
    def get_weights():
        return weights

    def outer(x):
        return get_weights() * x, get_weights()

    return outer, (_x(),)


@program
def nothing_but_captured():
    """A result that no argument reaches, computed from two captured arrays."""
    left = jnp.asarray(np.arange(32, dtype=np.float32))
    right = np.linspace(1.0, 2.0, 32, dtype=np.float32)

    def ignore_argument(x):
        del x
        return left / right

    return ignore_argument, (_x(),)


@program
def unused_captured():
    """A captured array whose only use is a result that is thrown away."""
    weights = jnp.asarray(np.arange(32, dtype=np.float32))

    def waste(x):
        _ = jnp.sin(x * weights)
        return x + 1.0

    return waste, (_x(),)


@program
def bound_by_partial():
    """An array bound with `functools.partial`, and so captured, by a function without a name."""
    weights = jnp.asarray(np.arange(32, dtype=np.float32))

    def multiply(weights, x):
        return weights * x

    return functools.partial(multiply, weights), (_x(),)


class _Model:
    def __init__(self):
        self.weights = jnp.asarray(np.arange(32, dtype=np.float32))

    def __call__(self, x):
        return x * self.weights

    def predict(self, x):
        return self(x) + self.weights


@program
def callable_object():
    """An object with arrays as attributes, called."""
    return _Model(), (_x(),)


@program
def bound_method():
    """A method that reaches arrays through `self`."""
    return _Model().predict, (_x(),)


@program
def array_through_numpy_api():
    """Captured NumPy arrays on the left of an operator, and under NumPy's own functions."""
    weights = np.arange(32, dtype=np.float32)

    def mixed(x):
        return weights * x, weights @ x, np.sqrt(weights) + x, np.outer(weights, weights) @ x

    return mixed, (_x(),)
