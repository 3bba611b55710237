"""A captured NumPy array keeps its value of the time of capture."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import engine


def aligned(value, alignment=64, size=1024):
    """A float32 array at an address that lets JAX skip the copy on CPU: the hazardous case."""
    memory = np.zeros(4 * size + alignment, np.uint8)
    start = -memory.ctypes.data % alignment
    array = memory[start : start + 4 * size].view(np.float32)
    array[:] = value
    return array


def scans(array):
    def fun(x):
        y, _ = jax.lax.scan(lambda c, _: (c + array, None), x, None, length=2)
        return jax.jit(lambda z: z + array)(y)

    return fun


def test_writing_to_a_number_later_changes_nothing(side):
    number = np.array(2.0, np.float32)
    traced = engine.jit(lambda x: jax.lax.mul(x, number), constants=side).trace(np.float32(1))
    number[...] = 3
    assert traced.lower().compile()(np.float32(1)) == 2


def test_a_preamble_uses_the_captured_value_of_a_number():
    table, number = jnp.ones((256, 256)) / 16, np.array(2.0, np.float32)

    def jitted(first):
        fun = lambda x: first + x @ jax.lax.mul(table @ table, number)  # noqa: E731
        return engine.jit(fun, constants="simplified", precompute_constants="auto")

    x = np.ones(256, np.float32)
    one = jitted(0)
    assert one(x)[0] == 512
    number[...] = 3
    assert jitted(1)(x)[0] == 769
    assert one(x)[0] == 512


def test_a_const_arg_of_a_loaded_program_may_be_captured():
    given = np.arange(16, dtype=np.float32)
    table = jnp.asarray(given)
    compiled = engine.jit(lambda x: x + table, constants="simplified").lower(1.0).compile()
    data = engine.serialize_executable.serialize(compiled)
    loaded = engine.serialize_executable.deserialize_and_load(data, [given])
    np.testing.assert_array_equal(engine.jit(lambda x: x * given)(2.0), 2 * given)
    np.testing.assert_array_equal(loaded(1.0), 1 + given)


@pytest.mark.parametrize("offset", [0, 4])
def test_writing_later_changes_nothing(side, offset):
    array = aligned(1.0)[offset:]
    jitted = engine.jit(scans(array), constants=side)
    x = jnp.zeros(array.shape)
    traced = jitted.trace(x)
    compiled = jitted.lower(x).compile()
    np.testing.assert_array_equal(jitted(x), 3.0)
    array[:] = 7.0
    np.testing.assert_array_equal(jitted(x), 3.0)
    np.testing.assert_array_equal(compiled(x), 3.0)
    np.testing.assert_array_equal(traced.lower().compile()(x), 3.0)
    # a new trace captures the new value
    np.testing.assert_array_equal(engine.jit(scans(array), constants=side)(x), 21.0)


def test_an_array_is_copied_once(side):
    array = aligned(1.0)
    closed_jaxpr = engine.make_jaxpr(scans(array), constants="simplified")(jnp.zeros(1024))
    [copy] = engine.jaxpr_const_args(closed_jaxpr)
    assert not np.shares_memory(copy, array)
    assert not copy.flags.writeable


def test_read_only_flags_are_not_trusted(side):
    """A flag can be cleared again, and the base of a view may be writeable all along."""
    frozen = aligned(1.0)
    frozen.flags.writeable = False
    buffer = bytearray(4 * 1024 + 64)
    start = -np.frombuffer(buffer, np.uint8).ctypes.data % 64
    view = np.frombuffer(memoryview(buffer).toreadonly(), np.float32, 1024, start)
    jitted = engine.jit(lambda x: x + frozen + view, constants=side)
    np.testing.assert_array_equal(jitted(0.0), 1.0)
    frozen.flags.writeable = True
    frozen[:] = 7.0
    buffer[:] = b"\x01" * len(buffer)
    np.testing.assert_array_equal(jitted(0.0), 1.0)


@pytest.mark.parametrize(
    "array", [np.asarray(jnp.arange(64.0)), np.frombuffer(b"x" * 256, np.float32)]
)
def test_immutable_memory_is_not_copied(array):
    closed_jaxpr = engine.make_jaxpr(lambda x: x + array, constants="simplified")(0.0)
    [same] = engine.jaxpr_const_args(closed_jaxpr)
    assert np.shares_memory(same, array)


def test_repeats_stay_repeats():
    """np.broadcast_to costs no memory; JAX inlines it as a broadcast, and so do we."""
    wide = np.broadcast_to(np.arange(3, dtype=np.float32), (1000, 3))
    closed_jaxpr = engine.make_jaxpr(lambda x: x + wide, constants="legacy")(0.0)
    assert closed_jaxpr.consts[0].strides == (0, 4)
    text = engine.jit(lambda x: x + wide, constants="legacy").lower(0.0).as_text()
    assert "tensor<3xf32>" in text
    np.testing.assert_array_equal(engine.jit(lambda x: x + wide)(1.0), 1.0 + wide)


@pytest.mark.parametrize("shape", [(1,), (1, 16), (4, 1, 4)])
def test_an_axis_of_size_one_is_no_repeat(shape):
    legacy_jit = functools.partial(engine.jit, constants="legacy")
    array = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    texts = {jit(lambda x: x * array).lower(2.0).as_text() for jit in (legacy_jit, jax.jit)}
    assert len(texts) == 1


def test_each_use_sees_the_value_at_that_time_if_the_function_writes(side):
    """Stock JAX computes 2 in both modes: the last value, everywhere (jax 0.10.2)."""

    def fun(x):
        buffer = np.zeros(20, np.float32)
        first = x + buffer
        buffer += 1
        jax.lax.fori_loop(0, 1, lambda _, c: c + buffer, x)
        return first + buffer

    jitted = engine.jit(fun, constants=side)
    x = jnp.zeros(20)
    for result in (jitted(x), jitted(x), jitted.lower(x).compile()(x)):
        np.testing.assert_array_equal(result, np.ones(20))


@pytest.mark.parametrize("order", ["C", "F", "strided", "transposed", "repeated", "nan"])
def test_an_unchanged_array_is_captured_once(order):
    array = np.arange(24.0, dtype=np.float32).reshape(4, 6)
    if order == "F":
        array = np.asfortranarray(array)
    if order == "strided":
        array = np.stack([array, array])[:, ::2]
    if order == "transposed":
        array = np.concatenate([array, array], axis=1)[:, :6].T
    if order == "repeated":
        array = np.broadcast_to(array[:1], (4, 6))
    if order == "nan":
        array[0] = np.nan
    jitted = engine.jit(
        lambda x: jax.jit(lambda y: y + array)(x) * array + array, constants="simplified"
    )
    lowered = jitted.lower(np.float32(1))
    [const] = lowered.const_args
    np.testing.assert_array_equal(const, array)


def test_an_array_that_jax_converts_is_captured_once():
    """JAX converts it to float32, anew for each use."""
    array = np.arange(24.0).reshape(4, 6)
    jitted = engine.jit(
        lambda x: jax.jit(lambda y: y + array)(x) * array + array, constants="simplified"
    )
    [const] = jitted.lower(np.float32(1)).const_args
    np.testing.assert_array_equal(const, array)


def test_equal_numbers_are_not_always_equal_bits():
    array = np.zeros(20, np.float32)

    def fun(x):
        first = 1 / (x + array)
        array[:] = -0.0
        return first, 1 / (x * 0 + array)

    plus, minus = engine.jit(fun, constants="simplified")(-np.zeros(20, np.float32))
    np.testing.assert_array_equal(plus, np.full(20, np.inf))
    np.testing.assert_array_equal(minus, np.full(20, -np.inf))


def test_a_zero_that_jax_makes_after_a_sharded_array_keeps_its_mesh(side):
    """JAX transposes the scan by the mesh of the zero, which is a NumPy array of JAX's own."""
    mesh = jax.make_mesh((2,), ("i",), axis_types=(jax.sharding.AxisType.Auto,))
    spread = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("i"))
    table = jax.device_put(np.ones((4, 4), np.float32), spread)

    def made():
        def step(carry, row):
            return 0.5 * carry, row.at[0].set(jnp.sum(table)) * carry

        return jax.grad(lambda x: jnp.sum(jax.lax.scan(step, jnp.ones(4), x)[1]))

    argument = np.ones((4, 4), np.float32)
    ours = engine.jit(made(), constants=side).trace(argument).jaxpr
    stock = jax.jit(made()).trace(argument).jaxpr
    assert str(ours).count("reshard") == str(stock).count("reshard") > 0
