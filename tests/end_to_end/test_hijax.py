"""Programs with hijax primitives, which have rules in Python: called as JAX calls them.

From jax 0.12.0 on `jnp.searchsorted` is one, and so `jnp.interp` and `jnp.digitize` have it.
"""

import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import engine
from parity_tests.observe import calls

SIDES = ("legacy", "simplified")
KNOTS = np.linspace(0.0, 1.0, 16, dtype=np.float32)
X = jnp.linspace(0.1, 0.9, 5)
IS_HIJAX = jax.__version_info__ >= (0, 12)


def interpolated(x):
    return jnp.interp(x, KNOTS, np.sin(KNOTS))


def frames_of(call):
    """Return the Python functions that a call enters, with their names."""
    found = []

    def enter(frame, event, _):
        if event == "call":
            found.append(frame.f_code.co_name)

    sys.setprofile(enter)
    try:
        call()
    finally:
        sys.setprofile(None)
    return found


@pytest.mark.parametrize("side", SIDES)
def test_a_later_call_runs_no_python(side):
    jitted = engine.jit(interpolated, constants=side)
    assert getattr(jitted.trace(X).jaxpr.jaxpr, "is_high", False) is IS_HIJAX
    np.testing.assert_array_equal(jitted(X), jax.jit(interpolated)(X))
    assert frames_of(lambda: jitted(X)) in ([], ["<lambda>"])


@pytest.mark.parametrize("side", SIDES)
def test_a_call_after_the_stages_compiles_nothing(side):
    jitted, heard = engine.jit(interpolated, constants=side), []
    jitted.trace(X).lower().compile()(X)
    with calls.durations(lambda event, *_, **__: heard.append(event)):
        jitted(X)
    assert heard == []


@pytest.mark.parametrize("side", SIDES)
def test_programs_whose_rules_differ_in_a_parameter_are_two(side):
    for where in ("left", "right", "left"):
        find = engine.jit(lambda x, at=where: jnp.searchsorted(KNOTS, x, side=at), constants=side)
        assert find(KNOTS[3]) == {"left": 3, "right": 4}[where]


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("transform", [jax.vmap, jax.grad, jax.jacfwd])
def test_under_transformations(side, transform):
    jitted = engine.jit(interpolated, constants=side)
    x = X if transform is jax.vmap else X[1]
    np.testing.assert_allclose(transform(jitted)(x), transform(interpolated)(x), rtol=1e-5)
