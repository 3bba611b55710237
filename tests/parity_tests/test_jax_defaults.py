"""JAX's defaults hold around the tester's own work, whatever the user has set, and only there."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from parity_tests import jax_defaults as settings
from parity_tests.evidence import values
from parity_tests.jax_defaults import jax_defaults, with_64_bits
from parity_tests.jaxpr.rewriting import with_other_elements
from parity_tests.own_jit import OwnJit

WITH_NAN = jnp.array([np.nan, 0.0, 2.0])
ON_HOST = np.ones(3, np.float32)


def transfers():
    WITH_NAN + ON_HOST


def makes_a_nan():
    jnp.log(-jnp.ones(3))


def broadcasts():
    jnp.ones((2, 3)) + jnp.ones(3)


def promotes():
    jnp.ones(3) + jnp.ones(3, jnp.bfloat16)


def traces():
    jax.jit(lambda x: x)(1.0)


FORBIDDING = [
    ("transfer_guard", "disallow", transfers),
    ("transfer_guard_host_to_device", "disallow_explicit", transfers),
    ("debug_nans", True, makes_a_nan),
    ("numpy_rank_promotion", "raise", broadcasts),
    ("numpy_dtype_promotion", "strict", promotes),
    ("no_tracing", True, traces),
]


@pytest.mark.parametrize(("setting", "value", "work"), FORBIDDING)
def test_what_a_users_setting_forbids_is_done_within(setting, value, work):
    with getattr(jax, setting)(value):
        with pytest.raises(Exception, match=r"."):  # of a type of its own for each setting
            work()
        with jax_defaults():
            work()
        assert getattr(jax.config, f"jax_{setting}") == value


def test_a_setting_that_this_jax_has_not_is_left_out(monkeypatch):
    monkeypatch.setitem(settings._DEFAULTS, "jax_setting_of_another_release", True)
    with jax.numpy_rank_promotion("raise"), jax_defaults():
        broadcasts()


def test_values_have_64_bits_within():
    with with_64_bits():
        assert jnp.ones(3, np.float64).dtype == np.float64


@pytest.mark.parametrize("guarded", ["transfer_guard", "transfer_guard_host_to_device"])
def test_a_setting_of_the_whole_process_comes_back(guarded):
    jax.config.update(f"jax_{guarded}", "disallow")
    try:
        with jax_defaults():
            transfers()
        with pytest.raises(jax.errors.JaxRuntimeError, match="Disallowed host-to-device"):
            transfers()
    finally:
        jax.config.update(f"jax_{guarded}", None)
    transfers()


def test_what_a_value_is_stays_the_users():
    with jax.enable_x64(True), jax_defaults():
        assert jnp.asarray(np.float64(1)).dtype == np.float64


def test_arrays_are_read_copied_and_replaced_under_any_settings():
    own = OwnJit(jnp.sin, (WITH_NAN,), {}, {"donate_argnums": (0,)})
    with jax.transfer_guard("disallow"), jax.debug_nans(True):
        [copy], _ = own.fresh()
        replaced = with_other_elements(WITH_NAN)
        row, value = values.to_host("", copy)
    np.testing.assert_array_equal(value.array, [np.nan, 0.0, 2.0])
    np.testing.assert_array_equal(replaced, [0.0, 1.0, 0.0])
    assert (copy is not WITH_NAN, row.shape) == (True, (3,))
