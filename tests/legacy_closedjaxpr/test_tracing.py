"""Legacy tracing: arrays are constvars, also where JAX has latched the other representation."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from evidence import array_literals
from jax import lax

import engine
from legacy_closedjaxpr.tracing import normalize

A = jnp.arange(12.0)
SCALAR = jnp.float32(2.0)


def uses_arrays_in_bodies(x):
    y, _ = lax.scan(lambda c, v: (c * A + v, None), x, None if x is None else jnp.ones((2, 12)))
    y = lax.cond(y[0] > 0, lambda v: v + A, lambda v: jax.jit(lambda w: w * A)(v), y)
    return y, A


def traced(fun, constants):
    return engine.make_jaxpr(fun, constants=constants)(jnp.ones(12))


def test_nothing_to_lift_returns_the_program_itself():
    closed_jaxpr = traced(uses_arrays_in_bodies, "legacy")
    assert normalize(closed_jaxpr) is closed_jaxpr


def test_lifting_the_simplified_form_gives_constvars_everywhere():
    simplified = traced(uses_arrays_in_bodies, "simplified")
    assert array_literals(simplified) > 0
    lifted = normalize(simplified)
    assert array_literals(lifted) == 0
    assert [c is A for c in lifted.consts] == [True]
    [cond] = [eqn for eqn in lifted.eqns if eqn.primitive.name == "cond"]
    [inner] = [e for b in cond.params["branches"] for e in b.eqns if e.primitive.name == "jit"]
    assert inner.params["jaxpr"].consts[0] is A  # the body of a jit has constvars of its own
    assert normalize(lifted) is lifted
    run = jax.extend.core.jaxpr_as_fun(lifted)
    for ours, expected in zip(run(jnp.ones(12)), uses_arrays_in_bodies(jnp.ones(12)), strict=True):
        np.testing.assert_allclose(ours, expected, rtol=1e-6)


def test_lifted_programs_print_as_legacy_programs():
    lifted = normalize(traced(uses_arrays_in_bodies, "simplified"))
    assert str(lifted) == str(traced(uses_arrays_in_bodies, "legacy"))


@pytest.mark.parametrize("where", ["top", "scan", "jit in scan"])
def test_zero_dimensional_arrays_are_constvars(where):
    def fun(x):
        if where == "top":
            return x * SCALAR
        step = (lambda c: c * SCALAR) if where == "scan" else jax.jit(lambda c: c * SCALAR)
        return lax.scan(lambda c, _: (step(c), None), x, None, length=2)[0]

    lifted = normalize(traced(fun, "simplified"))
    assert str(lifted) == str(traced(fun, "legacy"))
