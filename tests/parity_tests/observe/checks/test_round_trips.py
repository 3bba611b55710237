"""What an export or a reloaded executable returns is compared, and refusals are said."""

import functools

import jax
import jax.numpy as jnp
import numpy as np

import engine
from parity_tests.observe.calls import Result
from parity_tests.observe.checks import round_trips
from parity_tests.observe.compile_cache import Cached

X = np.arange(3, dtype=np.float32)


def exported(fun, first):
    [check] = round_trips.check_export(
        functools.partial(jax.jit(fun), X), ((X,), {}), Result.read(first)
    )
    return check


def test_an_export_returns_the_values_of_the_first_call():
    assert exported(lambda x: {"y": x * 2}, {"y": X * 2}).holds


def test_other_values_and_other_structures_are_found():
    check = exported(lambda x: {"y": x * 2}, {"y": X * 3})
    assert not check.holds
    assert check.statement.startswith("other values at ['y']: 2 of 3 elements are beyond rtol")
    assert exported(lambda x: (x,), (X, X)).statement == "2 leaves, and 1 afterwards"
    check = exported(lambda x: [x], (X,))
    assert (check.holds, check.statement) == (
        False,
        "another structure, ((*,)), and ([*]) afterwards",
    )
    check = exported(lambda x: x[:2], X)
    assert (check.holds, check.statement) == (
        False,
        "float32[3] at the only output, and float32[2] afterwards",
    )


def test_an_export_may_round_as_two_sides_may():
    """XLA multiplies by the inverse of a table that it can fold: an export has it inlined."""
    table = jnp.linspace(1, 3, 100)
    jitted = engine.jit(lambda x: x / table, constants="simplified")
    x = np.linspace(1, 7, 100, dtype=np.float32)
    first = Result.read(jitted(x))
    again = Result.read(jax.jit(jax.export.export(jitted)(x).call)(x))
    assert again.leaves[0].sha256 != first.leaves[0].sha256
    [check] = round_trips.check_export(functools.partial(jitted, x), ((x,), {}), first)
    assert check.holds, check.statement


def test_what_jax_does_not_export_is_said():
    def calls_back(x):
        return jax.pure_callback(np.sin, jax.typeof(x), x)

    check = exported(calls_back, X)
    assert not check.holds
    assert check.statement.startswith("not exported: ")


def test_a_reloaded_executable_is_called():
    first = Result.read(X + 1)
    right = Cached(compiled=lambda x: [jnp.asarray(x) + 1])
    wrong = Cached(compiled=lambda x: [jnp.asarray(x) + 2])
    [held], [failed] = (round_trips.check_reload(each, [X], first) for each in (right, wrong))
    assert held.holds
    assert not failed.holds
    rounded = Cached(compiled=lambda x: [jnp.nextafter(jnp.asarray(x) + 1, 9.0)])
    [check] = round_trips.check_reload(rounded, [X], first)
    assert (check.holds, check.statement) == (False, "other values at the only output")
    assert round_trips.check_reload(Cached(), [X], first) == ()
