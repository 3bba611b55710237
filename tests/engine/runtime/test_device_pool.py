"""A captured NumPy array is on a device once, however many executables use it."""

import gc

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import engine
from engine import jax_internals
from engine.runtime import device_pool

simplified = engine.jit(constants="simplified")


def buffers_of(value):
    """Addresses of the live arrays that are equal to a value."""
    gc.collect()
    found = (each for each in jax.live_arrays() if not each.is_deleted())
    alike = (each for each in found if each.shape == value.shape and each.dtype == value.dtype)
    return {each.unsafe_buffer_pointer() for each in alike if np.array_equal(each, value)}


def test_all_executables_of_a_process_share_one_buffer():
    table = np.arange(1001, dtype=np.float32)
    f = simplified(lambda x: x + table)
    g = simplified(lambda x: x * table)
    x = jnp.ones(1001)
    results = [f(x), f(1.0), g(2 * x), f.lower(x).compile()(x), jax.vmap(f)(x[None])[0]]
    assert len(buffers_of(table)) == 1
    for result in (*results[:2], *results[3:]):
        np.testing.assert_array_equal(result, 1 + table)


@pytest.mark.parametrize("guard", ["disallow", "disallow_explicit"])
def test_a_transfer_guard_of_the_user_is_not_for_constants(guard):
    """They are inlined in legacy form, and nobody's guard stops that."""
    table, x = np.arange(1009, dtype=np.float32), jnp.ones(1009)
    elsewhere = jax.device_put(x, jax.devices()[-1])
    with jax.transfer_guard(guard):
        results = [simplified(lambda x: x + table)(x), simplified(lambda y: y + x)(elsewhere)]
    np.testing.assert_array_equal(results[0], 1 + table)
    np.testing.assert_array_equal(results[1], jnp.full(1009, 2.0))


def test_another_value_in_the_same_memory_is_another_buffer():
    table = np.arange(1003, dtype=np.float32)
    f = simplified(lambda x: x + table)
    np.testing.assert_array_equal(f(0.0), np.arange(1003))
    table[:] = 7
    g = simplified(lambda x: x - table)
    np.testing.assert_array_equal(g(0.0), np.full(1003, -7))
    np.testing.assert_array_equal(f(1.0), 1 + np.arange(1003))


def test_each_placement_has_a_buffer_of_its_own():
    # This process has one device; a sharding that is not equivalent stands in for a second one.
    table = np.arange(1005, dtype=np.float32)
    f = simplified(lambda x: x + table)
    compiled = f.lower(1.0).compile()
    compiled(1.0)
    [const] = f.lower(1.0).const_args
    device = jax.sharding.SingleDeviceSharding(jax.devices()[0])
    assert device_pool._find(const, device) is not None
    host = jax.sharding.SingleDeviceSharding(jax.devices()[0], memory_kind="pinned_host")
    assert device_pool._find(const, host) is None


def test_a_buffer_of_another_dtype_is_not_reused():
    """Without x64, JAX transfers a plain float64 array as float32."""
    plain = np.arange(64.0)
    typed = jax_internals.of_its_own_type(plain)
    executable = simplified(lambda x: x + plain).lower(1.0).compile()._params.executable
    for const, dtype in [(plain, "float32"), (typed, "float64")]:
        [array] = device_pool.place(executable, [const])
        assert array.dtype == dtype
        np.testing.assert_array_equal(array, plain)


def test_the_pool_is_empty_when_the_functions_are_gone():
    def once():
        table = np.arange(1007, dtype=np.float32)
        f = simplified(lambda x: x + table)
        f(1.0)
        return table.copy()

    before = len(device_pool._pool)
    value = once()
    assert buffers_of(value) == set()
    gc.collect()
    assert len(device_pool._pool) <= before


def test_memory_with_a_new_owner_is_not_taken_for_the_old_array(monkeypatch):
    monkeypatch.setattr(device_pool, "constant_key", lambda value: "one address")
    first, second = (np.full(11, n, np.float32) for n in (1, 2))
    assert simplified(lambda x: x + first)(0.0)[0] == 1
    assert simplified(lambda x: x + second)(0.0)[0] == 2


def test_a_donated_or_deleted_buffer_is_not_reused():
    table = np.arange(1009, dtype=np.float32)
    f = simplified(lambda x: x + table)
    f(1.0)
    [const] = f.lower(1.0).const_args
    found = device_pool._find(const, jax.sharding.SingleDeviceSharding(jax.devices()[0]))
    found.delete()
    g = simplified(lambda x: x * table)
    np.testing.assert_array_equal(g(2.0), 2 * table)


def test_a_compiled_stage_transfers_its_constants_when_it_is_called():
    table = np.arange(1011, dtype=np.float32)
    compiled = simplified(lambda x: x + table).lower(1.0).compile()
    assert buffers_of(table) == set()
    results = [compiled(1.0), compiled(2.0)]
    assert len(buffers_of(table)) == 1
    np.testing.assert_array_equal(results[1], table + 2)


def test_a_compiled_stage_takes_a_captured_array_that_is_packed_on_the_device():
    table = np.arange(64).astype(jnp.int4)
    compiled = simplified(lambda x: x + jnp.asarray(table).astype(float)).lower(1.0).compile()
    np.testing.assert_array_equal(compiled(1.0), 1 + table.astype(np.float32))


def test_programs_that_run_in_python_keep_their_buffers():
    table = np.arange(1021, dtype=np.float32)

    @simplified
    def printed(x):
        jax.debug.callback(lambda x: None, x)
        return x + table

    x = jnp.float32(1)
    first = printed(x)
    [buffer] = buffers_of(table)
    with jax.transfer_guard("disallow"):
        again = printed(x)
    np.testing.assert_array_equal(again, first)
    assert buffers_of(table) == {buffer}
    del printed
    assert not buffers_of(table)


def test_arrays_on_other_devices_move_once_for_programs_that_run_in_python():
    table = jax.device_put(np.arange(1023, dtype=np.float32), jax.devices()[1])

    @simplified
    def printed(x):
        jax.debug.callback(lambda x: None, x)
        return x + table

    x = jnp.float32(1)
    printed(x)
    with jax.transfer_guard("disallow"):
        result = printed(x)
    np.testing.assert_array_equal(result, np.arange(1, 1024))
