"""The watcher: every execution of an engine program asks it, also of derived and compiled ones."""

import gc
import weakref

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import engine
from engine import api
from engine.runtime import watching

TABLE = jnp.arange(16.0)


@pytest.fixture
def executions():
    """Watch, and list what was executed; each is run on its own side."""
    seen = []

    def watcher(execution):
        seen.append(execution)
        return execution.run()

    api.forget_calls()
    watching.watch(watcher)
    yield seen
    watching.watch(None)


@engine.jit
def scaled(x):
    return x * TABLE


def test_every_call_asks_the_watcher(executions):
    for _ in range(3):
        scaled(2.0)
    assert [each.name for each in executions] == ["scaled"] * 3


def test_the_same_program_is_the_same_object(executions):
    scaled(2.0)
    scaled(3.0)
    assert executions[0].closed_jaxpr is executions[1].closed_jaxpr


def test_programs_that_jax_derives_ask_too(executions):
    jax.grad(lambda x: scaled(x).sum())(2.0)
    jax.vmap(scaled)(jnp.ones(3))
    assert len(executions) >= 2


def test_a_compiled_stage_asks_too(executions):
    compiled = scaled.lower(2.0).compile()
    assert not executions
    np.testing.assert_array_equal(compiled(3.0), 3 * TABLE)
    [execution] = executions
    np.testing.assert_array_equal(execution.run_on("simplified", [3.0])[0], 3 * TABLE)


def test_a_compiled_stage_refuses_other_arguments_as_without_a_watcher(executions):
    compiled = scaled.lower(2.0).compile()
    with pytest.raises(TypeError, match="compiled"):
        compiled(3.0, 4.0)
    assert not executions


@pytest.mark.parametrize("constants", ["legacy", "simplified"])
def test_the_other_side_gives_the_same_from_the_same_trace(executions, constants):
    traces = []

    @engine.jit(constants=constants)
    def traced(x):
        traces.append(x)
        return jax.lax.scan(lambda carry, row: (carry + row * TABLE, carry.sum()), x, TABLE)

    carried, sums = traced(jnp.ones(16))
    [execution] = executions
    assert execution.side == constants
    for side in engine.SIDES:
        results = execution.run_on(side, execution.operands)
        for result, expected in zip(results, (carried, sums), strict=True):
            np.testing.assert_array_equal(result, expected)
    assert len(traces) == 1


def test_the_other_side_takes_copies_of_donated_arguments(executions):
    donating = engine.jit(lambda x: x + TABLE, donate_argnums=0)
    donating(jnp.ones(16))
    [execution] = executions
    assert list(execution.donated) == [True]
    np.testing.assert_array_equal(
        execution.run_on("simplified", [jnp.ones(16)])[0], 1 + np.arange(16)
    )


@pytest.mark.parametrize(
    ("function", "expected"),
    [(lambda x: 2 * x, True), (lambda x: x * TABLE, False), (lambda x: x + TABLE[:4].sum(), False)],
)
def test_programs_that_captured_nothing_are_one_program(executions, function, expected):
    engine.jit(function)(jnp.ones(16))
    assert executions[-1].is_one_program() is expected


def test_without_a_watcher_the_second_call_runs_no_python():
    assert watching.watcher() is None
    scaled(2.0)
    calls = []
    watching.watch(lambda execution: calls.append(execution) or execution.run())
    try:
        scaled(2.0)  # the dispatcher kept the executable from before
        assert not calls
        api.forget_calls()
        scaled(2.0)
        assert len(calls) == 1
    finally:
        watching.watch(None)
    api.forget_calls()


def test_an_error_of_a_call_is_the_error_without_a_watcher(executions):
    with pytest.raises(TypeError, match="abstract array"):
        scaled("text")
    assert not executions


def test_a_later_call_lowers_nothing_on_either_side(executions, monkeypatch):
    executed = []
    stock = api._execute
    monkeypatch.setattr(api, "_execute", lambda *args: executed.append(args) or stock(*args))
    other = engine.jit(lambda x: x - TABLE)
    for value in (2.0, 3.0):
        expected = value - np.arange(16)
        np.testing.assert_array_equal(other(value), expected)
        for side in engine.SIDES:
            [result] = executions[-1].run_on(side, [value])
            np.testing.assert_array_equal(result, expected)
    assert len(executed) == 2


def test_what_a_watcher_ran_lives_no_longer_than_its_function():
    watching.watch(lambda execution: [execution.run_on(s, [2.0]) for s in engine.SIDES].pop())
    try:
        program = engine.jit(lambda x: x + TABLE)
        closed_jaxpr = weakref.ref(program.trace(2.0).jaxpr)
        program(2.0)
        assert closed_jaxpr() is not None
        del program
        gc.collect()
        assert closed_jaxpr() is None
    finally:
        watching.watch(None)
