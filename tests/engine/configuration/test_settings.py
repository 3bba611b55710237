"""One flag: read when a function is traced, part of every cache key, never mixed."""

import os
import subprocess
import sys
import threading

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from evidence import inlined_bytes, side_shown_by
from program_files import script_file

import engine


@pytest.fixture
def jitted(uses_table_everywhere):
    return engine.jit(uses_table_everywhere)


def side_of(jitted, arguments):
    traced = jitted.trace(*arguments)
    return side_shown_by(traced, traced.lower())


def test_context_manager_decides(jitted, arguments):
    assert side_of(jitted, arguments) == "legacy"
    with engine.use_simplified_constants(True):
        assert side_of(jitted, arguments) == "simplified"
        with engine.use_simplified_constants(False):
            assert side_of(jitted, arguments) == "legacy"
        assert side_of(jitted, arguments) == "simplified"
    assert side_of(jitted, arguments) == "legacy"


def test_update_decides_in_both_directions(jitted, arguments):
    expected = jax.jit(jitted.__wrapped__)(*arguments)["y"]
    try:
        for value in (True, False, True, True, False):
            engine.config.update("use_simplified_constants", value)
            assert engine.config.use_simplified_constants is value
            assert side_of(jitted, arguments) == ("simplified" if value else "legacy")
            # a call cached in C++ for the other value must not run that program
            np.testing.assert_allclose(jitted(*arguments)["y"], expected, rtol=1e-6, atol=1e-6)
    finally:
        engine.config.update("use_simplified_constants", False)


def test_a_cached_call_notices_the_flag(table):
    traces = []

    @engine.jit
    def fun(x):
        traces.append(engine.config.use_simplified_constants)
        return x + table

    for _ in range(2):
        for value in (False, True):
            with engine.use_simplified_constants(value):
                fun(1.0)
    assert traces == [False, True]


def test_the_argument_beats_the_flag(uses_table_everywhere, arguments):
    for side in engine.SIDES:
        fixed = engine.jit(uses_table_everywhere, constants=side)
        for value in (False, True):
            with engine.use_simplified_constants(value):
                assert side_of(fixed, arguments) == side


def copies(lowered):
    text = lowered.as_text()
    return inlined_bytes(text) // (7 * 7 * 4), text.count("jax.const = true")


@pytest.mark.parametrize("constants", [*engine.SIDES, None])
@pytest.mark.parametrize("value", [False, True])
def test_a_program_of_plain_jax_jit_stays_a_program_of_plain_jax_jit(table, constants, value):
    """A function called in it follows its form: unhoisted Literals would be inlined at each use."""

    def three_uses(x):
        return jnp.tanh(x @ table) @ table + table @ x

    inner = engine.jit(three_uses, constants=constants)
    x = jnp.ones((7, 7))
    with engine.use_simplified_constants(value):
        nested = jax.jit(lambda y: inner(y) + 1).lower(x)
        plain = jax.jit(lambda y: jax.jit(three_uses)(y) + 1).lower(x)
        scanned = jax.jit(lambda y: jax.lax.map(inner, y[None])).lower(x)
    assert copies(nested) == copies(plain) == (1, 0)
    assert copies(scanned) == (1, 0)


def test_a_program_of_plain_jax_jit_stays_one_where_jax_hoists():
    """The other mixture: a module that JAX hoists from, with arrays that legacy would inline."""
    script = script_file("constants_inside_plain_jit")
    done = run(str(script), JAX_USE_SIMPLIFIED_JAXPR_CONSTANTS="1")
    assert done.stdout.split() == ["False", "False"], done.stderr


def test_threads_with_different_values(table):
    """Two threads with two values and ever new programs: each thread keeps to its own pipeline."""
    rounds, shown, barrier = 12, {True: [], False: []}, threading.Barrier(2)

    def work(value):
        with engine.use_simplified_constants(value):
            for i in range(rounds):
                fun = engine.jit(lambda x, i=i: jax.jit(lambda y: y @ table)(x) + table * i)
                barrier.wait(timeout=60)
                traced = fun.trace(jnp.ones((7, 7)))
                shown[value].append(side_shown_by(traced, traced.lower()))
                np.testing.assert_allclose(
                    fun(jnp.ones((7, 7))), jnp.ones((7, 7)) @ table + table * i, rtol=1e-5
                )

    threads = [threading.Thread(target=work, args=(value,)) for value in (True, False)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert shown == {True: ["simplified"] * rounds, False: ["legacy"] * rounds}


def test_a_mixture_would_be_noticed(uses_table_everywhere, arguments):
    """A planted mixture: simplified tracing, legacy lowering, like JAX's own flag set late."""
    traced = engine.jit(uses_table_everywhere, constants="simplified").trace(*arguments)
    hybrid = traced.lower(hoist_constants_as_args=False)
    assert side_shown_by(traced, hybrid) == "mixture"
    legacy = engine.jit(uses_table_everywhere, constants="legacy").trace(*arguments)
    assert side_shown_by(legacy, traced.lower()) == "mixture"


def run(*how, **environment):
    inherited = {k: v for k, v in os.environ.items() if "SIMPLIFIED" not in k}
    return subprocess.run(
        [sys.executable, *how],
        env=inherited | environment,
        capture_output=True,
        text=True,
        timeout=120,
    )


@pytest.mark.parametrize(
    ("environment", "flag"),
    [
        ({}, "legacy"),
        ({"CONSTPARITY_USE_SIMPLIFIED_CONSTANTS": "1"}, "simplified"),
        ({"JAX_USE_SIMPLIFIED_JAXPR_CONSTANTS": "1"}, "simplified"),
        (
            {
                "JAX_USE_SIMPLIFIED_JAXPR_CONSTANTS": "1",
                "CONSTPARITY_USE_SIMPLIFIED_CONSTANTS": "off",
            },
            "legacy",
        ),
    ],
)
def test_environment(environment, flag):
    """No side mixes in a process of either flag, even where JAX has latched its own flag."""
    legacy, simplified = "legacy 2 0", "simplified 0 1"
    script = script_file("side_of_each_keyword")
    lines = run(str(script), **environment).stdout.splitlines()
    assert lines == [{"legacy": legacy, "simplified": simplified}[flag], legacy, simplified]


def test_illegal_values_are_refused():
    for bad in ("maybe", 2, None):
        with pytest.raises(ValueError, match=r"True or False .*got"):
            engine.config.update("use_simplified_constants", bad)
        with pytest.raises(ValueError, match=r"True or False .*got"):
            engine.use_simplified_constants(bad)
    for bad in (-1, 1.5, True, "many"):
        with pytest.raises(ValueError, match=r"number of bytes, 0 or more, got"):
            engine.embedded_constants_max_bytes(bad)
    with pytest.raises(AttributeError, match="the options are constant_policy, deduplicate"):
        engine.config.update("no_such_option", 1)
    with pytest.raises(AttributeError, match=r"use engine\.config\.update"):
        engine.config.use_simplified_constants = True
    done = run("-c", "import engine", CONSTPARITY_USE_SIMPLIFIED_CONSTANTS="perhaps")
    assert done.returncode != 0
    assert (
        "the environment variable CONSTPARITY_USE_SIMPLIFIED_CONSTANTS must be True or False"
        in done.stderr
    )


@pytest.fixture
def jax_threshold():
    """Set JAX's embed threshold for one test, and let the engine follow it."""
    before = jax.config.jax_embedded_constants_max_bytes
    engine.config.update("embedded_constants_max_bytes", None)
    yield lambda value: jax.config.update("jax_embedded_constants_max_bytes", value)
    jax.config.update("jax_embedded_constants_max_bytes", before)


def num_const_args(jitted, x):
    return len(jitted.lower(x).const_args)


def test_the_embed_threshold_of_jax_is_followed_when_it_changes(jax_threshold):
    small, x = np.arange(64, dtype=np.float32), np.ones(64, np.float32)
    jitted = engine.jit(lambda x: x * small, constants="simplified")
    assert num_const_args(jitted, x) == 1
    np.testing.assert_array_equal(jitted(x), small)
    jax_threshold(256)
    assert engine.config.embedded_constants_max_bytes == 256
    assert num_const_args(jitted, x) == 0
    assert "dense" in jitted.lower(x).as_text()
    np.testing.assert_array_equal(jitted(x), small)
    jax_threshold(255)
    assert num_const_args(jitted, x) == 1


def test_an_array_in_a_composite_is_marked_under_the_threshold_of_jax(jax_threshold):
    pair, x = np.array([1.5, 2.5], np.float32), np.ones(2, np.float32)
    composite = jax.lax.composite(lambda x: x + pair, "constparity.plus")
    jitted = engine.jit(lambda x: composite(x), constants="simplified")
    assert num_const_args(jitted, x) == 0
    jax_threshold(4)
    assert num_const_args(jitted, x) == 1
    assert jitted.lower(x).as_text().count("jax.const = true") == 2  # main, and the composite's
    np.testing.assert_array_equal(jitted(x), x + pair)


def test_a_threshold_of_ours_goes_before_that_of_jax(jax_threshold):
    with engine.embedded_constants_max_bytes(8):
        jax_threshold(256)
        assert engine.config.embedded_constants_max_bytes == 8
    assert engine.config.embedded_constants_max_bytes == 256
    engine.config.update("embedded_constants_max_bytes", 16)
    assert engine.config.embedded_constants_max_bytes == 16
    engine.config.update("embedded_constants_max_bytes", None)
    assert engine.config.embedded_constants_max_bytes == 256
