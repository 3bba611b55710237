"""Equal arrays are one const arg if deduplication is on, and never otherwise."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import Mesh, NamedSharding, PartitionSpec

import engine
from engine.configuration.parsing import parse_deduplicate
from engine.configuration.settings import Setting

N = 41


def two(make=np.ones, other=None):
    first, second = make(N, np.float32), (other or make)(N, np.float32)

    def fun(x):
        return jax.lax.cond(x > 0, lambda: first * x, lambda: second - x) + jnp.sin(second)

    return fun


def test_work_on_equal_arrays_is_done_once():
    arrays = [np.full((256, 256), 2, np.float32) for _ in range(4)]
    jitted = engine.jit(
        lambda x: sum(x @ jnp.sort(array, axis=0) for array in arrays),
        constants="simplified",
        precompute_constants="auto",
        deduplicate_constants=True,
    )
    lowered = jitted.lower(jnp.ones((1, 256)))
    assert [const.shape for const in lowered.const_args] == [(256, 256)]
    assert "sort" not in lowered.as_text()
    assert jitted(jnp.ones((1, 256)))[0, 0] == 4 * 2 * 256


def test_an_array_that_a_policy_inlines_does_not_stand_for_an_equal_one():
    hoisted, inlined = np.full((256, 256), 2, np.float32), np.full((256, 256), 2, np.float32)

    def policy(constant):
        return "inline" if constant.value.shape == (256, 256) else None

    def jitted(array, policy=None):
        return engine.jit(
            lambda x: x @ jnp.sort(array, axis=0),
            constants="simplified",
            precompute_constants="auto",
            deduplicate_constants=True,
            constant_policy=policy,
        )

    first = jitted(hoisted)
    assert "sort" not in first.lower(jnp.ones((1, 256))).as_text()
    assert "sort" in jitted(inlined, policy).lower(jnp.ones((1, 256))).as_text()


def const_args(fun, deduplicate=None, x=2.0):
    jitted = engine.jit(fun, constants="simplified", deduplicate_constants=deduplicate)
    lowered = jitted.lower(x)
    np.testing.assert_array_equal(lowered.compile()(x), jax.jit(fun)(x))
    np.testing.assert_array_equal(jitted(x), jax.jit(fun)(x))
    return lowered.const_args


@pytest.mark.parametrize("make", [np.ones, jnp.ones])
@pytest.mark.parametrize(("deduplicate", "count"), [(None, 2), (False, 2), (True, 1), (4 * N, 1)])
def test_equal_arrays_are_one_const_arg_where_it_is_on(make, deduplicate, count):
    assert len(const_args(two(make), deduplicate)) == count


def test_arrays_above_the_size_are_not_read():
    assert len(const_args(two(), 4 * N - 1)) == 2


@pytest.mark.parametrize(
    "other",
    [
        lambda n, dtype: np.full(n, np.nextafter(np.float32(1), np.float32(2))),
        lambda n, dtype: np.ones(n, np.int32),
        lambda n, dtype: np.ones((1, n), dtype),
        jnp.ones,
        lambda n, dtype: jax.device_put(np.ones(n, dtype), jax.devices()[0]),
    ],
    ids=["value", "dtype", "shape", "owner", "committed"],
)
def test_arrays_that_differ_in_anything_are_two(other):
    left = np.ones(N, np.float32)
    right = other(N, np.float32)
    lowered = engine.jit(
        lambda x: (left + x, right - x), constants="simplified", deduplicate_constants=True
    ).lower(2.0)
    assert len(lowered.const_args) == 2


def test_zeros_of_two_signs_are_two():
    def negative(n, dtype):
        return -np.zeros(n, dtype)

    assert len(const_args(two(np.zeros, negative), deduplicate=True)) == 2


def test_programs_share_the_first_array():
    first, second = jnp.arange(47.0), jnp.arange(47.0)
    jitted = engine.jit(constants="simplified", deduplicate_constants=True)
    [a] = jitted(lambda x: x + first).lower(1.0).const_args
    [b] = jitted(lambda x: x * second).lower(1.0).const_args
    assert a.unsafe_buffer_pointer() == b.unsafe_buffer_pointer()
    first.delete()
    third = jnp.arange(47.0)
    np.testing.assert_array_equal(jitted(lambda x: x - third)(1.0), 1 - np.arange(47.0))


def test_it_is_a_setting_and_part_of_every_key():
    fun = two()
    jitted = engine.jit(fun, constants="simplified")
    counts = []
    for on in (False, True, False):
        with engine.deduplicate_constants(on):
            jitted(2.0)
            counts.append(len(jitted.lower(2.0).const_args))
    assert counts == [2, 1, 2]


def test_derived_programs_keep_the_setting():
    jitted = engine.jit(two(), constants="simplified", deduplicate_constants=True)
    expected = jax.grad(lambda x: two()(x).sum())(2.0)
    np.testing.assert_allclose(jax.grad(lambda x: jitted(x).sum())(2.0), expected, rtol=1e-6)


@pytest.mark.parametrize("value", [-1, 1.5, "perhaps"])
def test_other_values_are_refused(value):
    with pytest.raises(ValueError, match="deduplicate_constants must be True, False or a number"):
        engine.jit(lambda x: x, deduplicate_constants=value)
    with pytest.raises(ValueError, match="deduplicate_constants must be True, False or a number"):
        engine.config.update("deduplicate_constants", value)


def test_arrays_over_the_same_devices_in_another_order_are_two():
    devices, value = np.array(jax.devices()[:4]), np.arange(64, dtype=np.float32)
    shardings = [
        NamedSharding(Mesh(order, ("i",)), PartitionSpec("i")) for order in (devices, devices[::-1])
    ]
    arrays = [jax.device_put(value, sharding) for sharding in shardings]
    for array in arrays:
        jitted = engine.jit(
            lambda x, table=array: x + table, constants="simplified", deduplicate_constants=True
        )
        assert jitted(array).sharding == array.sharding


@pytest.mark.parametrize(
    ("text", "size"),
    [("1", 64 * 2**20), ("True", 64 * 2**20), ("off", 0), ("0", 0), (" 1048576 ", 2**20)],
)
def test_the_environment_turns_it_on(text, size, monkeypatch):
    monkeypatch.setenv("CONSTPARITY_DEDUPLICATE_CONSTANTS_AGAIN", text)
    again = Setting(
        "deduplicate_constants_again", parse_deduplicate, False, "A setting.", traced=False
    )
    assert again.value == size
