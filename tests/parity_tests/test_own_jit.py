"""The options of a program's own jit, and its arguments as these options take them."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P

import engine
from parity_tests.own_jit import OwnJit, options_of


def power(x, n, scale=1.0, *, negative=False):
    return (-1 if negative else 1) * scale * x**n


X = jnp.arange(3.0)


@pytest.mark.parametrize("jit", [jax.jit, functools.partial(engine.jit, constants="simplified")])
def test_options_are_read_off_a_jitted_function(jit):
    mesh = jax.make_mesh((1,), ("x",))
    sharding = NamedSharding(mesh, P("x"))
    given = {"static_argnums": (1,), "donate_argnums": (0,), "keep_unused": True}
    found = options_of(jit(power, **given, out_shardings=sharding))
    assert {name: found[name] for name in given} == given
    assert found["out_shardings"] == sharding
    assert "in_shardings" not in found
    assert jax.jit(power, **found)(jnp.arange(4.0), 2).shape == (4,)


def test_a_function_that_is_not_jitted_has_none():
    own = OwnJit.of(power, (X, 2), {})
    assert (own.options, own.bound, own.dynamic) == ({}, power, ((X, 2), {}))
    assert own.fresh()[0][0] is X


def test_static_arguments_are_bound():
    jitted = jax.jit(power, static_argnums=(-2, 1), static_argnames="negative")
    own = OwnJit.of(jitted, (X, 2, 3.0), {"negative": True})
    args, kwargs = own.dynamic
    assert (len(args), kwargs) == (2, {})
    np.testing.assert_array_equal(own.bound(*args, **kwargs), -3.0 * X**2)
    np.testing.assert_array_equal(jax.jit(own.bound)(*args), jitted(X, 2, 3.0, negative=True))
    assert own.bound.__name__ == "power"


def test_a_call_is_given_copies_of_what_it_consumes():
    own = OwnJit.of(jax.jit(power, donate_argnums=0, donate_argnames="scale"), (X, X), {"scale": X})
    (first, second), kwargs = own.fresh()
    assert (first is X, second is X, kwargs["scale"] is X) == (False, True, False)
    assert own.donates
    assert first.unsafe_buffer_pointer() != X.unsafe_buffer_pointer()
