"""The examples of JAX's document on exporting, as functions to be jitted or exported.

Sharded export needs several devices and is left out. Everything else runs on one.

Source: JAX's document "Exporting and serializing staged-out computations".
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax import export, lax

from parity_tests.program import program


@program(args=(np.float32(1.0),))
def twice_the_square(x):
    """The document's first export: a polynomial of a scalar."""
    return 2 * x * x


@program(args=(1.0,))
def caller_of_twice_the_square(y):
    """A function that calls the first export; expressed plainly, as a nested jit."""
    return 3.0 * jax.jit(lambda x: 2 * x * x)(y * 4.0)


@program
def exported_beside_captured():
    """Calls a real `Exported` with a captured array; what an export itself captures is inlined."""
    weights = jnp.asarray(np.linspace(-1.0, 1.0, 256, dtype=np.float32))
    exported = export.export(jax.jit(_doubled_square))(jax.ShapeDtypeStruct((256,), np.float32))

    def call_exported(y):
        return 3.0 * exported.call(y * weights) + weights

    return call_exported, (np.ones(256, np.float32),)


def _doubled_square(x):
    return 2 * x * x


def _cubic(x):
    return 7 * x * x * x


@program(args=(0.1,))
def cubic(x):
    """The function whose derivatives the document exports along with it."""
    return _cubic(x)


@program(args=(0.1,))
def cubic_to_third_derivative(x):
    """The cubic and its first, second and third reverse-mode derivative."""
    first = jax.grad(_cubic)
    second = jax.grad(first)
    third = jax.grad(second)
    return _cubic(x), first(x), second(x), third(x)


@program
def cubic_captured_to_third_derivative():
    """The cubic with a captured array of coefficients, and three derivatives of their sum."""
    coefficients = np.linspace(1.0, 7.0, 64, dtype=np.float32)

    def weighted_cubic(x):
        return jnp.sum(coefficients * x * x * x)

    def derivatives(x):
        first = jax.grad(weighted_cubic)
        second = jax.grad(first)
        third = jax.grad(second)
        return weighted_cubic(x), first(x), second(x), third(x)

    return derivatives, (0.1,)


@program
def lax_cosine():
    """A JAX function itself as the program; the document exports it for several platforms."""
    return lax.cos, (1.0,)


@program(args=(1.0,))
def thousand_cosines(x):
    """A chain of a thousand equations without a single constant."""
    for _ in range(1000):
        x = jnp.cos(x)
    return x


@program
def chain_on_captured():
    """A chain of fifty equations that all use the one captured array."""
    phase = np.linspace(0.0, 1.0, 512, dtype=np.float32)

    def chain(x):
        for _ in range(50):
            x = jnp.cos(x + phase)
        return x

    return chain, (np.zeros(512, np.float32),)


@program(args=lambda: (np.arange(32, dtype=np.int32),))
def transpose(x):
    """The document's device-polymorphic export: the transpose of a vector, an identity."""
    return x.T


@program
def transpose_captured():
    """The transpose of a captured matrix beside that of the argument."""
    matrix = np.arange(32, dtype=np.int32).reshape(4, 8)

    def transpose_both(x):
        return x.T, matrix.T, jnp.asarray(matrix).T

    return transpose_both, (np.arange(32, dtype=np.int32).reshape(8, 4),)


@program(args=lambda: (np.arange(4, dtype=np.int32),))
def cosine_of_integers(x):
    """The document's export to be called on sharded arguments: cosines of an integer array."""
    return jnp.cos(x)
