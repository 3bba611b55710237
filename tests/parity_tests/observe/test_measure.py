"""Measuring a program on a side of ours: every check of that side holds."""

import time

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hijax_primitives import Pair, expanding, paired
from jax.experimental import io_callback

from parity_tests.observe import measure, memory, stages
from parity_tests.program import from_function, program


@pytest.mark.parametrize("side", ["legacy", "simplified"])
def test_our_sides_hold_every_check(side):
    table, array = jnp.arange(20.0), np.arange(20, dtype=np.float32)
    marked = from_function(program(args=(1.0,))(lambda x: x * table + array), "here:fun")
    observation = measure.measure(marked, side).observation
    assert observation.failure is None, observation.failure
    assert [each for each in observation.checks if not each.holds] == []
    names = {each.name for each in observation.checks}
    assert names >= {"calls agree", "recompiles", "dispatch in C++", "writes into captured arrays"}
    assert ("flag flips" in names) == (side == "legacy")
    assert ("const arg buffers" in names) == (side == "simplified")


@pytest.mark.parametrize("side", ["legacy", "simplified"])
def test_what_a_hijax_primitive_captures_when_it_expands_is_captured(side):
    """An operand that it leaves unread is passed in no form, and stands in the legacy one."""
    table, unread = jnp.arange(20.0), jnp.ones(20)
    scales = expanding(lambda x, unread: x * table)
    marked = from_function(program(args=(table + 1,))(lambda x: scales(x, unread)), "here:fun")
    observation = measure.measure(marked, side).observation
    assert observation.failure is None, observation.failure
    found = {each.fate for each in observation.ledger}
    assert found == ({"folded", "unused"} if side == "legacy" else {"hoisted"})


def test_a_result_of_a_hijax_type_is_what_the_compiled_stage_of_jax_does_not_take():
    x = jnp.arange(20.0)
    assert isinstance(jax.jit(paired)(x), Pair)
    with pytest.raises(TypeError) as raised:
        jax.jit(paired).lower(x).compile()(x)
    marked = from_function(program(args=(x,))(paired), "here:paired")
    failure = measure.measure(marked, "jax-legacy").observation.failure
    assert failure.message == (
        "JAX's compiled stage takes no call of a program with a result of a hijax type: "
        f"{raised.value}"
    )


@pytest.mark.parametrize(
    ("side", "flips", "captured", "kept"),
    [
        ("legacy", "called", 1, 1),
        ("legacy", "first", 1, 0),
        ("legacy", "called", 0, 0),
        ("simplified", "called", 1, 0),
    ],
)
def test_an_observation_is_kept_before_checks_that_may_end_the_process(side, flips, captured, kept):
    table, before = jnp.arange(20.0), []
    fun = (lambda x: x * table) if captured else (lambda x: x * 2)
    marked = from_function(program(args=(1.0,))(fun), "here:fun")
    measured = measure.measure(marked, side, flips=flips, on_measured=before.append)
    assert [each.observation.times for each in before] == kept * [measured.observation.times]
    assert any(each.name == "flag flips" for each in measured.observation.checks) == bool(kept)
    for each in before:
        last = measured.observation.checks[len(each.observation.checks) :]
        assert [check.name for check in last] == ["flag flips", "settings left alone"]


@pytest.mark.parametrize(("long", "is_called"), [(0.0, False), (60.0, True)])
def test_a_program_that_compiles_for_long_is_not_compiled_in_its_other_form(
    monkeypatch, long, is_called
):
    monkeypatch.setattr(measure, "LONG_STAGING", long)
    table = jnp.arange(20.0)
    marked = from_function(program(args=(1.0,))(lambda x: x * table), "here:fun")
    checks = {each.name: each for each in measure.measure(marked, "legacy").observation.checks}
    assert checks["flag flips"].holds
    assert checks["flag flips"].statement == (
        "each side comes back" + "; simplified was lowered, and not called" * (not is_called)
    )


@pytest.mark.parametrize(("long", "called_on"), [(1, True), (2, False)])
def test_a_program_that_is_long_at_first_alone_is_called_on(monkeypatch, long, called_on):
    """On a busy machine the first call of any program may be long."""
    monkeypatch.setattr(stages, "SHORT", 0.5)
    began = []

    def wait(x):
        began.append(x)
        time.sleep(0.6 if len(began) <= long else 0.02)  # memory is looked at after each
        return x

    number = jax.ShapeDtypeStruct((), np.float32)
    waits = program(args=(np.float32(1.0),))(lambda x: io_callback(wait, number, x))
    observation = measure.measure(from_function(waits, "here:waits"), "legacy").observation
    assert (observation.growth is not None) == called_on


def test_what_tracing_takes_of_the_processors_leaves_out_what_it_waits():
    def waits(x):
        time.sleep(1.0)
        return x

    marked = from_function(program(args=(1.0,))(waits), "here:waits")
    times = measure.measure(marked, "legacy").observation.times
    assert times.trace >= 1.0
    assert 0.0 < times.processor < times.trace + times.lower + times.compile


@pytest.mark.parametrize(("given", "walks"), [({}, 2), ({"exact_peaks": False}, 0)])
def test_free_memory_is_given_back_for_an_exact_peak(monkeypatch, given, walks):
    made = []
    monkeypatch.setattr(memory, "give_back", lambda: made.append(1))
    marked = from_function(program(args=(1.0,))(lambda x: x + 1), "here:adds")
    assert measure.measure(marked, "legacy", **given).observation.failure is None
    assert len(made) == walks
