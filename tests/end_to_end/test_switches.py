"""JAX's own switches do to `engine.jit` what they do to `jax.jit`, in both modes."""

import logging
import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

TABLE = jnp.arange(16.0).reshape(4, 4)
ON_HOST = np.arange(16.0, dtype=np.float32).reshape(4, 4)


def times_table(x):
    with jax.named_scope("my_scope"):
        return x * TABLE


def test_log_compiles_logs_tracing_lowering_and_compiling(jit, caplog):
    with jax.log_compiles(), caplog.at_level(logging.WARNING, "jax"):
        jitted = jit(lambda x: times_table(x))
        for _ in range(2):
            jitted(np.float32(2))
    said = [record.getMessage() for record in caplog.records]
    assert [re.sub(r" with .*| in .*", "", line) for line in said] == [
        "Finished tracing <lambda> for jit",
        "Compiling jit(<lambda>)",
        "Finished jaxpr to MLIR module conversion jit(<lambda>)",
        "Finished XLA compilation of jit(<lambda>)",
    ]


def test_explain_cache_misses(jit, caplog):
    jax.config.update("jax_explain_cache_misses", True)
    try:
        with caplog.at_level(logging.WARNING, "jax"):
            jitted = jit(lambda x: times_table(x))
            jitted(ON_HOST[0])
            jitted(ON_HOST[:1])
    finally:
        jax.config.update("jax_explain_cache_misses", False)
    assert "TRACING CACHE MISS" in caplog.text
    assert "different input types" in caplog.text


def test_leaked_tracers_are_found_and_captured_arrays_are_not_reported(jit):
    leaked = []
    with jax.checking_leaks():
        with pytest.raises(Exception, match=r"Leaked trace DynamicJaxprTrace"):
            jit(lambda x: leaked.append(x * 2) or times_table(x))(TABLE)
        leaked.clear()
        scan = jit(lambda x: jax.lax.scan(lambda c, row: (c * TABLE[0] + row, c), x[0], x))
        scan(TABLE)
        derivative = jit(jax.grad(lambda x: jit(times_table)(x).sum()))
        np.testing.assert_array_equal(derivative(TABLE), TABLE)


def test_strict_promotion_of_dtypes_and_ranks(jit):
    with (
        jax.numpy_dtype_promotion("strict"),
        pytest.raises(ValueError, match="no available implicit dtype promotion path"),
    ):
        jit(times_table)(jnp.arange(4))
    with (
        jax.numpy_rank_promotion("raise"),
        pytest.raises(ValueError, match="Operands could not be broadcast"),
    ):
        jit(times_table)(TABLE[0])


def test_a_change_of_matmul_precision_is_a_new_program(jit):
    jitted = jit(lambda x: x @ TABLE)
    assert "HIGHEST" not in jitted.lower(TABLE).as_text()
    with jax.default_matmul_precision("float32"):
        assert "HIGHEST" in jitted.lower(TABLE).as_text()
    assert "HIGHEST" not in jitted.lower(TABLE).as_text()


def test_default_device(jit):
    jitted = jit(times_table)
    for device in (jax.devices()[3], jax.devices()[0], jax.devices()[2]):
        with jax.default_device(device):
            result = jitted(ON_HOST)
            assert result.devices() == {device}
            assert not result.committed


@pytest.mark.parametrize(
    ("switch", "found"), [(jax.debug_nans, "nan"), (jax.debug_infs, "inf")], ids=["nans", "infs"]
)
def test_debug_switches_find_the_operation_also_on_the_fast_path(jit, switch, found):
    divided = jit(lambda x: (TABLE + (found == "inf")) / x)
    divided(TABLE + 1)
    for call in (divided, jax.vmap(divided), jax.grad(lambda x: divided(x).sum())):
        with switch(True), pytest.raises(FloatingPointError, match="encountered in div"):
            call(TABLE * 0)


def test_transfer_guard_lets_device_arrays_through_and_stops_host_arguments(jit):
    jitted = jit(times_table)
    jitted(TABLE)
    with jax.transfer_guard("disallow"):
        jitted(TABLE)
        with pytest.raises(jax.errors.JaxRuntimeError, match="Disallowed host-to-device"):
            jitted(ON_HOST)


def test_ir_is_dumped_where_the_user_asks(jit, tmp_path):
    jax.config.update("jax_dump_ir_to", str(tmp_path))
    jax.config.update("jax_dump_ir_modes", "jaxpr,stablehlo")
    jax.clear_caches()
    try:
        jit(times_table)(TABLE)
    finally:
        jax.config.update("jax_dump_ir_to", None)
        jax.config.update("jax_dump_ir_modes", "stablehlo")
    names = sorted(re.sub(r"\d+", "", path.name) for path in tmp_path.iterdir())
    assert names == ["jax__times_table.jaxpr.txt", "jax_ir_jit_times_table_compile.mlir"]


def test_names_and_source_lines_of_profiles(jit):
    lowered = jit(times_table).lower(TABLE)
    text = lowered.as_text(debug_info=True)
    assert "module @jit_times_table" in text
    assert "my_scope" in text
    hlo = lowered.compile().as_text()
    assert "HloModule jit_times_table" in hlo
    assert 'op_name="jit(times_table)/my_scope/mul"' in hlo
    line = times_table.__code__.co_firstlineno + 2
    assert f'test_switches.py":{line}:' in text


def test_enable_x64_is_a_new_program(jit):
    jitted = jit(lambda x: x + np.arange(4) / 3)
    for enabled in (True, False, True):
        with jax.enable_x64(enabled):
            assert jitted(1.0).dtype == (np.float64 if enabled else np.float32)


def test_clear_caches(jit):
    traces = []

    def fun(x):
        traces.append(x)
        return x * TABLE

    jit(fun)(TABLE)
    jit(fun)(TABLE)
    assert jit(fun)._cache_size() == 1
    jax.clear_caches()
    assert jit(fun)._cache_size() == 0
    np.testing.assert_array_equal(jit(fun)(TABLE), TABLE**2)
    assert len(traces) == 2


def test_debug_checks_ignore_the_copy_that_protects_a_captured_array(jit):
    mask = jnp.where(jnp.tri(16, dtype=bool), 0.0, -jnp.inf)
    jitted = jit(lambda x: jnp.where(mask < 0, 0.0, x * 2), donate_argnums=0)
    with jax.debug_infs(True), jax.debug_nans(True):
        assert jitted(jnp.ones((16, 16))).sum() == 272


def test_a_setting_that_is_a_dictionary(jit):
    before = jax.config.jax_pjrt_client_create_options
    jax.config.update("jax_pjrt_client_create_options", {"an_option": "1"})
    try:
        np.testing.assert_array_equal(jit(lambda x: times_table(x) + 1)(TABLE), TABLE * TABLE + 1)
    finally:
        jax.config.update("jax_pjrt_client_create_options", before)


def test_derived_programs_while_jit_is_disabled(jit):
    _, pullback = jax.vjp(jit(times_table), TABLE)
    expected = pullback(TABLE)
    with jax.disable_jit():
        found = pullback(TABLE)
    np.testing.assert_array_equal(found[0], expected[0])


@pytest.mark.parametrize("within", [lambda: jax.transfer_guard("allow"), jax.log_compiles])
def test_logging_settings_do_not_cause_compilations(jit, within):
    @jit
    def printed(x):
        jax.debug.callback(lambda x: None, x)
        return times_table(x)

    printed(TABLE)
    compiled = []

    def listener(event, duration, **_):
        compiled.extend([event] * ("backend_compile" in event))

    jax.monitoring.register_event_duration_secs_listener(listener)
    try:
        with within():
            printed(TABLE)
    finally:
        jax.monitoring.unregister_event_duration_listener(listener)
    assert not compiled
