"""The side of a trace, and that what is executed within one does not belong to it."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import engine
from engine import jax_internals
from engine.api import pipeline_of
from engine.configuration.settings import use_simplified_constants
from engine.tracing import executing, traced_form, tracing_for
from parity_tests.observe.calls import work_of_jax


def tracing_legacy():
    return tracing_for(pipeline_of("legacy"), "legacy")


def tracing_simplified():
    return tracing_for(pipeline_of("simplified"), "simplified")


def seen():
    flag = use_simplified_constants.value
    return traced_form(), flag, jax_internals.jax_emits_simplified_jaxprs()


@pytest.mark.parametrize("flag", [False, True])
def test_what_is_executed_has_the_settings_outside_of_the_trace(flag):
    with use_simplified_constants(flag):
        outside = seen()
        with tracing_simplified(), tracing_simplified():
            assert seen() == (True, True, True)
            with executing():
                assert seen() == outside == (None, flag, False)
                with tracing_legacy(), executing(), executing():
                    assert seen() == outside
                assert seen() == outside
            assert seen() == (True, True, True)
        with executing():
            assert seen() == outside


def test_an_error_leaves_nothing_behind():
    outside = seen()
    with pytest.raises(ZeroDivisionError), tracing_simplified(), executing():
        raise ZeroDivisionError
    assert seen() == outside
    with executing():
        assert seen() == outside


def test_a_derived_program_finds_what_jax_compiled_outside_of_its_trace():
    """An array is sliced for its devices by a program of JAX's, which is compiled once."""
    mesh = jax.make_mesh((2,), ("i",), axis_types=(jax.sharding.AxisType.Auto,))
    x = jax.device_put(np.ones((6, 8), np.float32), jax.NamedSharding(mesh, jax.P("i")))
    table = jnp.arange(48.0).reshape(6, 8)
    jitted = engine.jit(lambda x: x * table, constants="simplified")
    jitted(x)
    batch = x[None]
    with work_of_jax() as work:
        jax.vmap(jitted)(batch)
    assert work["compilation"] == 1
