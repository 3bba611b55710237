"""A program, and the same with other values, compiled with a persistent cache."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import engine
from parity_tests.jaxpr.captured import identity
from parity_tests.jaxpr.rewriting import replace_captured, with_other_elements
from parity_tests.observe import compile_cache
from parity_tests.observe.compile_cache import HIT, as_the_user_has_it, compiled_with_a_folder
from parity_tests.observe.jit_on_side import staged_alone

WEIGHTS = np.arange(64, dtype=np.float32).reshape(8, 8)
TABLE = jnp.arange(64.0).reshape(8, 8)


def step(x):
    inner = jax.jit(lambda y: jnp.tanh(y @ WEIGHTS))
    return inner(x) + inner(2 * x) + jax.lax.cond(x[0] > 0, lambda: x @ TABLE, lambda: x)


def measured(constants, captured, fun=step):
    def jit(function):
        return engine.jit(function, constants=constants)

    x = jnp.ones(8)
    closed = jit(fun).trace(x).jaxpr
    with staged_alone(constants):
        return compile_cache.measure(jit, closed, [x], [identity(each) for each in captured])


@pytest.mark.parametrize(("constants", "recompiles"), [("legacy", 1), ("simplified", 0)])
def test_other_values_are_compiled_again_where_they_are_inlined(constants, recompiles):
    with compile_cache.cache_events() as events:
        found = measured(constants, [WEIGHTS, TABLE])
    assert found.recompiles == recompiles
    assert found.seconds > 0
    # No more often than the figures need: each may take seconds.
    assert events[HIT] == 1


def test_the_same_values_are_never_compiled_again():
    assert measured("legacy", []).recompiles is None
    # An array that the program does not have: nothing changes.
    assert measured("legacy", [np.ones(3)]).recompiles == 0


def test_a_program_that_jax_does_not_cache_has_no_figures(monkeypatch):
    def calls_back(x):
        return x + jax.pure_callback(np.negative, jax.typeof(TABLE), TABLE)[0]

    found = measured("legacy", [TABLE], calls_back)
    if jax.__version_info__ >= (0, 11, 0):  # JAX caches programs that call Python, too
        assert found.recompiles == 1
        monkeypatch.setattr(compile_cache, "HIT", "/no such event")
        found = measured("legacy", [TABLE], calls_back)
    assert found == compile_cache.Cached()


def test_the_settings_of_jax_are_as_they_were():
    before = (jax.config.jax_enable_compilation_cache, jax.config.jax_compilation_cache_dir)
    measured("legacy", [WEIGHTS])
    after = (jax.config.jax_enable_compilation_cache, jax.config.jax_compilation_cache_dir)
    assert before == after


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder that the user has named for the cache, which keeps everything."""
    monkeypatch.setattr(compile_cache, "_of_user", compile_cache._OfUser())
    settings = {
        "jax_compilation_cache_dir": str(tmp_path),
        "jax_persistent_cache_min_compile_time_secs": 0.0,
        "jax_persistent_cache_min_entry_size_bytes": -1,
        "jax_enable_compilation_cache": False,
    }
    before = {name: getattr(jax.config, name) for name in settings}
    for name, value in settings.items():
        jax.config.update(name, value)
    yield tmp_path
    for name, value in before.items():
        jax.config.update(name, value)


def compile_closures():
    for k in range(3):
        table = np.arange(64, dtype=np.float32) + k
        jax.jit(lambda x, table=table: x + table).lower(table).compile()


def test_a_program_fills_the_cache_of_its_user_in_its_calls_as_written_alone(folder):
    with as_the_user_has_it():
        compile_closures()
    assert len([*folder.glob("*-cache")]) == compile_cache.entries_written() == 3
    assert not jax.config.jax_enable_compilation_cache
    jax.jit(lambda x: x - 1).lower(np.ones(64)).compile()
    assert len([*folder.glob("*-cache")]) == 3


def test_a_cache_that_the_user_has_turned_off_is_off(folder):
    compile_cache.is_off_for_the_user()
    with as_the_user_has_it():
        compile_closures()
    assert ([*folder.glob("*-cache")], compile_cache.entries_written()) == ([], 0)


def test_what_is_compiled_counts_where_a_folder_is_named(folder):
    with compiled_with_a_folder() as compiled:
        jax.jit(lambda x: x + 1).trace(np.ones(8)).lower()
    assert compiled == []
    with compiled_with_a_folder() as compiled:
        compile_closures()
        jax.config.update("jax_compilation_cache_dir", None)
        compile_closures()
    assert compiled == [compile_cache.COMPILED] * 3


def test_long_compilations_and_large_closures_are_left_out():
    assert compile_cache.is_affordable(1.0, 1000)
    assert not compile_cache.is_affordable(60.0, 1000)
    assert not compile_cache.is_affordable(1.0, 4 * 2**30)


@pytest.mark.parametrize("constants", ["legacy", "simplified"])
def test_a_rewritten_program_computes_with_the_other_values_in_all_bodies(constants):
    x = jnp.arange(8.0)
    closed = engine.jit(step, constants=constants).trace(x).jaxpr
    [result] = jax.extend.core.jaxpr_as_fun(replace_captured(closed, lambda v: v))(x)
    np.testing.assert_array_equal(result, step(x))
    doubled = replace_captured(closed, lambda v: v * 2 if np.ndim(v) else v)
    [result] = jax.extend.core.jaxpr_as_fun(doubled)(x)
    expected = jnp.tanh(x @ (2 * WEIGHTS)) + jnp.tanh(2 * x @ (2 * WEIGHTS)) + x
    np.testing.assert_allclose(result, expected, rtol=1e-6)


@pytest.mark.parametrize("array", [jnp.asarray, np.asarray])
def test_an_array_of_64_bits_is_replaced_where_they_are_off(array):
    with jax.enable_x64(True):
        wide = array(np.linspace(0.0, 1.0, 8))

    def in_double(x):
        with jax.enable_x64(True):
            return x.astype(jnp.float64) * wide

    closed = jax.jit(in_double).trace(jnp.ones(8)).jaxpr
    other = jax.extend.core.jaxpr_as_fun(replace_captured(closed, with_other_elements))
    [result] = jax.jit(other)(jnp.ones(8))
    assert result.dtype == np.float64
    assert np.array_equal(result, np.asarray(wide) == 0)


def test_a_body_that_is_shared_stays_shared():
    def twice(x):
        inner = jax.jit(lambda y: y @ TABLE)
        return inner(x) + inner(2 * x)

    closed = engine.jit(twice, constants="simplified").trace(jnp.ones(8)).jaxpr
    bodies = [
        eqn.params["jaxpr"]
        for eqn in replace_captured(closed, with_other_elements).jaxpr.eqns
        if eqn.primitive.name == "jit"
    ]
    assert len(bodies) == 2
    assert bodies[0] is bodies[1]


@pytest.mark.parametrize(
    "value", [WEIGHTS, TABLE, np.ones(3, bool), jnp.ones(3, jnp.bfloat16), jnp.ones(3, jnp.int4)]
)
def test_another_value_has_the_type_and_other_elements(value):
    other = with_other_elements(value)
    assert type(other) is type(value)
    assert (other.shape, other.dtype) == (value.shape, value.dtype)
    assert (np.asarray(other) != np.asarray(value)).any()


@pytest.mark.parametrize("value", [2.0, np.float32(1), jnp.zeros(0), jax.random.key(0)])
def test_what_cannot_change_stays(value):
    assert with_other_elements(value) is value
