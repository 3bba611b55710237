"""Programs that raise in simplified form alone, with exceptions and texts that are hard to show."""

import jax
import jax.numpy as jnp

from parity_tests import program

X = (jnp.arange(6.0),)
WEIGHTS = jnp.arange(6.0) + 1


class UnreadableError(Exception):
    def __str__(self):
        raise ZeroDivisionError("no text")


def fails_after_the_flip(x, error):
    if not jax.make_jaxpr(lambda y: y * WEIGHTS)(x).consts:
        raise error  # raises after the flip
    return x * 2


@program(args=X)
def text_cannot_be_read(x):
    return fails_after_the_flip(x, UnreadableError())


@program(args=X)
def escape_sequences(x):
    return fails_after_the_flip(x, ValueError("\x1b[2J\x1b[1mgone\x07\x9b31m :100: [bold]x[/]"))


@program(args=X)
def of_several_lines(x):
    return fails_after_the_flip(x, ValueError("first\r\nsecond\x00"))


@program(args=X)
def raised_by_jax(x):
    if not jax.make_jaxpr(lambda y: y * WEIGHTS)(x).consts:
        return jnp.dot(x, jnp.ones(7))  # JAX raises here
    return x


@program(args=X, name=":100: [red]name[/]\x1b[31m")
def odd_name(x):
    return fails_after_the_flip(x, ValueError("odd"))
