"""Programs that cannot be lowered are refused with a clear error, in both modes."""

import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import engine

TABLE = jnp.ones((8, 8))


def reducer(x):
    return lax.reduce(x, np.float32(0), lambda a, b: a + b * TABLE[0, :1].sum(), (0,))


def window(x):
    return lax.reduce_window(
        x, np.float32(0), lambda a, b: a + b * TABLE[1, :1].sum(), (2,), (1,), "SAME"
    )


@pytest.mark.parametrize(
    ("fun", "name", "side"),
    [
        (reducer, "reduce", "legacy"),
        (reducer, "reduce", "simplified"),
        (window, "reduce_window", "simplified"),
    ],
)
def test_a_reducer_that_captured_an_array(fun, name, side):
    message = (
        rf"the computation of `{name}` at .*test_unsupported.py:\d+ .* captured an array, "
        r"float32\[8,8\]; .* Compute the values it needs before the reduction"
    )
    jitted = engine.jit(fun, constants=side)
    with pytest.raises(NotImplementedError, match=message):
        jitted(jnp.ones(4))
    with pytest.raises(NotImplementedError, match=message):
        jitted.lower(jnp.ones(4))
    nested = engine.jit(lambda x: lax.map(fun, x), constants=side)
    with pytest.raises(NotImplementedError, match=message):
        nested(jnp.ones((2, 4)))


def test_jax_cannot_trace_a_window_that_captured_an_array_in_legacy():
    with pytest.raises(TypeError, match="In a call to primitive reduce_window"):
        engine.jit(window, constants="legacy")(jnp.ones(4))


def test_the_remedy_works(side):
    def remedied(x):
        factor = TABLE[0, :1].sum()
        return lax.scan(lambda a, b: (a + b * factor, None), jnp.float32(0), x)[0]

    np.testing.assert_allclose(engine.jit(remedied, constants=side)(jnp.ones(4)), 4.0)


def test_reducers_without_arrays_are_left_alone(side):
    fun = lambda x: lax.reduce(x, np.float32(0), lambda a, b: a * 0.5 + b, (0,)) + TABLE  # noqa: E731
    np.testing.assert_allclose(engine.jit(fun, constants=side)(jnp.ones(2)), 2.5)
