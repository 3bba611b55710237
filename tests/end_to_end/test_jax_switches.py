"""The switches that make rules for derivatives and checkpoints hijax primitives, off by default.

jax 0.12.0 has all three. Releases before it have some, without hijax primitives behind them.
"""

import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import engine
from parity_tests.observe import calls

SIDES = ("legacy", "simplified")
SWITCHES = [
    name
    for name in ("jax_custom_jvp3", "jax_custom_vjp3", "jax_remat3")
    if hasattr(jax.config, name)
]
TABLE = np.linspace(0.5, 2.0, 64, dtype=np.float32)
SLOPES = jnp.linspace(-1.0, 1.0, 64)
X = jnp.linspace(0.1, 0.9, 64)


@pytest.fixture(params=[*SWITCHES, "no switch"])
def switch(request):
    """One switch that is on, or none."""
    if request.param == "no switch":
        yield request.param
        return
    before = getattr(jax.config, request.param)
    jax.config.update(request.param, True)
    yield request.param
    jax.config.update(request.param, before)


def with_jvp():
    @jax.custom_jvp
    def tabulated(x):
        return jnp.sin(x) * TABLE

    tabulated.defjvp(lambda p, t: (tabulated(*p), jnp.cos(p[0]) * SLOPES * t[0]))
    return tabulated


def with_vjp():
    @jax.custom_vjp
    def tabulated(x):
        return jnp.sin(x) * TABLE

    tabulated.defvjp(lambda x: (tabulated(x), x), lambda x, c: (c * jnp.cos(x) * SLOPES,))
    return tabulated


def checkpointed():
    return jax.checkpoint(lambda x: jnp.sin(jnp.sin(x * TABLE) * SLOPES))


def digitized():
    return lambda x: x * jnp.digitize(x, TABLE)


FUNCTIONS = [with_jvp, with_vjp, checkpointed, digitized]


def program_of(make):
    function = make()

    def program(x):
        return function(x) + TABLE, jax.grad(lambda x: function(x).sum())(x)

    return program


@pytest.mark.parametrize("make", FUNCTIONS)
@pytest.mark.parametrize("side", SIDES)
def test_results_are_those_of_stock_jax(switch, side, make):
    program = program_of(make)
    ours, stock = engine.jit(program, constants=side)(X), jax.jit(program)(X)
    for ours_leaf, stock_leaf in zip(ours, stock, strict=True):
        np.testing.assert_allclose(ours_leaf, stock_leaf, rtol=1e-6)


@pytest.mark.parametrize("make", FUNCTIONS)
@pytest.mark.parametrize("side", SIDES)
def test_transformations_of_a_jitted_function(switch, side, make):
    ours, stock = engine.jit(make(), constants=side), jax.jit(make())
    rows = X + jnp.arange(3.0)[:, None]
    np.testing.assert_allclose(jax.vmap(ours)(rows), jax.vmap(stock)(rows), rtol=1e-6)
    np.testing.assert_allclose(jax.jacrev(ours)(X), jax.jacrev(stock)(X), rtol=1e-6)


@pytest.mark.parametrize("make", FUNCTIONS)
def test_each_array_is_one_const_arg(switch, make):
    lowered = engine.jit(program_of(make), constants="simplified").lower(X)
    arrays = {with_jvp: 2, with_vjp: 2, checkpointed: 2, digitized: 1}[make]
    assert len(lowered.const_args) == arrays
    assert len(engine.jit(program_of(make), constants="legacy").lower(X).const_args) == 0


def cost_of_later_calls(jitted):
    """Whether a call lowers or compiles after the stages have, and the next one runs Python."""
    heard, frames = [], []
    jitted.trace(X).lower().compile()(X)
    with calls.durations(lambda event, *_, **__: heard.append(event)):
        jitted(X)
    sys.setprofile(lambda frame, event, _: event == "call" and frames.append(frame.f_code.co_name))
    try:
        jitted(X)
    finally:
        sys.setprofile(None)
    work = [event for event in heard if "jaxpr_to_mlir" in event or "backend_compile" in event]
    return bool(work), bool(frames)


@pytest.mark.parametrize("make", FUNCTIONS)
@pytest.mark.parametrize("side", SIDES)
def test_later_calls_cost_what_they_cost_in_stock_jax(switch, side, make):
    stock = cost_of_later_calls(jax.jit(program_of(make)))
    assert cost_of_later_calls(engine.jit(program_of(make), constants=side)) == stock
    if switch == "no switch" or jax.__version_info__ >= (0, 12):
        assert stock == (False, False)
