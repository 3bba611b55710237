"""Arguments decide where a program runs; captured arrays follow, unless they are sharded."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental.layout import Format, Layout
from jax.sharding import (
    AbstractDevice,
    AbstractMesh,
    AxisType,
    Mesh,
    NamedSharding,
    PartitionSpec,
    SingleDeviceSharding,
    use_abstract_mesh,
)

import engine
from simplified_consts.preamble import extraction
from simplified_consts.preamble.profitability import Limits

DEVICES = jax.devices()
MESH = jax.make_mesh((8,), ("i",), axis_types=(AxisType.Auto,))
SPLIT, REPLICATED = (NamedSharding(MESH, PartitionSpec(*spec)) for spec in (("i",), ()))
PLAIN = jnp.arange(64.0)
CAPTURED = {
    "uncommitted": PLAIN,
    "committed to 1": jax.device_put(PLAIN, DEVICES[1]),
    "split": jax.device_put(PLAIN, SPLIT),
    "replicated": jax.device_put(PLAIN, REPLICATED),
}
ARGUMENTS = {
    "uncommitted": jnp.ones(64),
    "numpy": np.ones(64, np.float32),
    "committed to 3": jax.device_put(jnp.ones(64), DEVICES[3]),
    "split": jax.device_put(jnp.ones(64), SPLIT),
}


def results(fun, *args, constants, **options):
    """The results of the first call, of the fast path, and of the compiled stage."""
    jitted = engine.jit(fun, constants=constants, **options)
    return jitted(*args), jitted(*args), jitted.lower(*args).compile()(*args)


@pytest.mark.parametrize("argument", ARGUMENTS)
@pytest.mark.parametrize("captured", CAPTURED)
def test_placement_of_results(captured, argument, side):
    array, x = CAPTURED[captured], ARGUMENTS[argument]
    sharded = captured in ("split", "replicated")
    for result in results(lambda a: a * 2 + array, x, constants=side):
        np.testing.assert_array_equal(result, 2 + np.arange(64.0))
        if argument == "committed to 3":
            assert result.sharding == SingleDeviceSharding(DEVICES[3])
            assert result.committed
        elif argument == "split":
            assert result.sharding == SPLIT
        elif sharded and side == "simplified":
            assert result.sharding == CAPTURED[captured].sharding  # the array keeps its sharding
        else:
            assert result.sharding == SingleDeviceSharding(DEVICES[0])
            assert not result.committed


def test_captured_arrays_on_several_devices(side):
    one, two = (jax.device_put(PLAIN, DEVICES[i]) for i in (1, 2))
    for result in results(lambda x: x + one * two, ARGUMENTS["committed to 3"], constants=side):
        np.testing.assert_array_equal(result, 1 + np.arange(64.0) ** 2)
        assert result.sharding == SingleDeviceSharding(DEVICES[3])
    for result in results(lambda: one * two, constants=side):
        assert not result.committed


def test_arrays_on_other_devices_move_once():
    array = CAPTURED["committed to 1"]
    jitted = engine.jit(lambda x: x + array, constants="simplified")
    x = ARGUMENTS["committed to 3"]
    jitted(x)
    with jax.transfer_guard("disallow"):
        jitted(x)


def test_sharded_constants_stay_on_their_devices():
    """No device holds a whole split array, and the HLO argument says so."""
    array = CAPTURED["split"]
    lowered = engine.jit(lambda x: x + array, constants="simplified").lower(np.float32(1))
    assert lowered.const_args[0].sharding == SPLIT
    main = next(line for line in lowered.as_text().splitlines() if "@main" in line)
    const_arg = main[: main.index("%arg1")]
    assert "jax.const = true" in const_arg
    assert "sdy.sharding" in const_arg
    assert lowered.compile().memory_analysis().argument_size_in_bytes < array.nbytes


@pytest.mark.parametrize("option", ["in_shardings", "out_shardings"])
def test_shardings_given_to_jit(side, option):
    array = CAPTURED["committed to 1"]
    for result in results(
        lambda x: x + array, ARGUMENTS["uncommitted"], constants=side, **{option: SPLIT}
    ):
        np.testing.assert_array_equal(result, 1 + np.arange(64.0))
        assert result.sharding == SPLIT


def test_conflicting_arguments_give_the_error_of_jax(side):
    def add(a, b):
        return a + b + PLAIN

    a, b = (jax.device_put(PLAIN, DEVICES[i]) for i in (1, 2))
    called, lowered = set(), set()
    for jitted in (jax.jit(add), engine.jit(add, constants=side)):
        with pytest.raises(ValueError, match="incompatible devices") as error:
            jitted(a, b)
        called.add(str(error.value))
        with pytest.raises(ValueError, match="incompatible devices") as error:
            jitted.lower(a, b)
        lowered.add(str(error.value))
    assert len(called) == len(lowered) == 1


def test_shard_map(side):
    table = jnp.arange(8.0)
    mapped = jax.shard_map(
        lambda x: x * table + jax.lax.psum(x, "i"),
        mesh=MESH,
        in_specs=PartitionSpec("i"),
        out_specs=PartitionSpec("i"),
    )
    expected = jax.jit(mapped)(ARGUMENTS["split"])
    for result in results(mapped, ARGUMENTS["split"], constants=side):
        np.testing.assert_array_equal(result, expected)
        assert result.sharding == SPLIT


def test_meshes_with_explicit_axes(side):
    """Shardings are part of types, also of the types of captured arrays, in both modes."""
    mesh = jax.make_mesh((2, 4), ("a", "b"), axis_types=(AxisType.Explicit,) * 2)
    with jax.set_mesh(mesh):
        table = jax.device_put(PLAIN.reshape(8, 8), PartitionSpec("a", "b"))
        x = jax.device_put(PLAIN.reshape(8, 8), PartitionSpec("a", None))

        def fun(x):
            rows = x * jax.sharding.reshard(table, PartitionSpec("a", None))
            return rows, jnp.dot(x, table, out_sharding=PartitionSpec("a", "b")), table

        expected = jax.jit(fun)(x)
        types = [str(aval) for aval in jax.jit(fun).trace(x).jaxpr.out_avals]
        traced = engine.jit(fun, constants=side).trace(x)
        assert [str(aval) for aval in traced.jaxpr.out_avals] == types
        assert types[0] == "float32[8@a,8]"
        for result in results(fun, x, constants=side):
            for ours, stock in zip(result, expected, strict=True):
                np.testing.assert_array_equal(ours, stock)
                assert ours.sharding == stock.sharding


@pytest.mark.parametrize("kind", ["device", "pinned_host", "unpinned_host"])
def test_captured_arrays_in_every_kind_of_memory(side, kind):
    there = SingleDeviceSharding(DEVICES[0], memory_kind=kind)
    array = jax.device_put(PLAIN, there)

    def fun(x):
        return x + jax.device_put(array, jax.memory.Space.Device), jax.device_put(x, there)

    expected = jax.jit(fun)(ARGUMENTS["uncommitted"])
    for result in results(fun, ARGUMENTS["uncommitted"], constants=side):
        for ours, stock in zip(result, expected, strict=True):
            np.testing.assert_array_equal(ours, stock)
            assert ours.sharding == stock.sharding


@pytest.mark.parametrize("argument", ["uncommitted", "committed to 1", "committed to 3"])
@pytest.mark.parametrize("device", [0, 1])
def test_captured_arrays_in_a_layout_of_their_own(side, device, argument):
    """The layout of its buffer does not change the values of an array."""
    columns = Format(Layout(major_to_minor=(1, 0)), SingleDeviceSharding(DEVICES[device]))
    numbers = np.arange(12.0, dtype=np.float32).reshape(3, 4)
    array = jax.device_put(numbers, columns)
    assert array.format.layout.major_to_minor == (1, 0)
    x = jnp.ones((3, 4))
    if argument.startswith("committed"):
        x = jax.device_put(x, DEVICES[int(argument[-1])])
    for result in results(lambda x: x + array, x, constants=side):
        np.testing.assert_array_equal(result, 1 + numbers)
        assert result.committed == argument.startswith("committed")


def test_layouts_of_arguments_and_results(side):
    columns = Format(Layout(major_to_minor=(1, 0)), SingleDeviceSharding(DEVICES[0]))
    numbers = np.arange(12.0, dtype=np.float32).reshape(3, 4)
    array, x = jnp.asarray(numbers), jax.device_put(numbers, columns)
    options = {"in_shardings": columns, "out_shardings": columns}
    for result in results(lambda x: x * array, x, constants=side, **options):
        np.testing.assert_array_equal(result, numbers**2)
        assert result.format == x.format
    automatic = {"in_shardings": Format(Layout.AUTO), "out_shardings": Format(Layout.AUTO)}
    jitted = engine.jit(lambda x: x * array, constants=side, **automatic)
    compiled = jitted.lower(jax.ShapeDtypeStruct((3, 4), np.float32)).compile()
    [[chosen], _] = compiled.input_formats
    np.testing.assert_array_equal(compiled(jax.device_put(numbers, chosen)), numbers**2)


def test_wrong_arguments_of_a_compiled_program_give_the_errors_of_jax(side):
    plain, split = PLAIN, ARGUMENTS["split"]

    def messages(jit):
        compiled = jit(lambda x, y: x * plain + y).lower(plain, plain).compile()
        for_shards = jit(lambda x: x * plain, in_shardings=SPLIT).lower(plain).compile()
        for call in (
            lambda: compiled(plain),
            lambda: compiled(plain, plain, plain),
            lambda: compiled(plain, y=plain),
            lambda: compiled((plain,), plain),
            lambda: compiled(plain, plain[:4]),
            lambda: compiled(plain, plain.astype(np.int32)),
            lambda: compiled(split, plain),
            lambda: compiled("text", plain),
            lambda: for_shards(jax.device_put(plain, REPLICATED)),
            lambda: for_shards(jax.device_put(plain, DEVICES[3])),
            lambda: jit(lambda x: x * plain, in_shardings=SPLIT)(plain[:7]),
            lambda: jit(lambda x: x, in_shardings=SPLIT)(jax.device_put(plain, REPLICATED)),
            lambda: jit(lambda x: x + plain, in_shardings=(SPLIT, SPLIT))(plain),
            lambda: jit(lambda x: x + plain, out_shardings=(SPLIT, SPLIT))(plain),
            lambda: jax.grad(compiled)(plain, plain),
            lambda: jax.vmap(compiled)(plain[None], plain[None]),
        ):
            with pytest.raises((TypeError, ValueError)) as error:
                call()
            yield type(error.value), str(error.value)

    ours = functools.partial(engine.jit, constants=side)
    assert list(messages(ours)) == list(messages(jax.jit))


def test_strict_placement_gives_the_errors_of_jax():
    table = CAPTURED["committed to 1"]
    jitted = engine.jit(lambda x: x + table, constants="simplified")
    x = ARGUMENTS["committed to 3"]
    expected = "closed over constant sharding with device ids \\[1\\]"
    jitted(x)
    with engine.strict_placement(True):
        with pytest.raises(ValueError, match=expected):
            jitted(x)
        with pytest.raises(ValueError, match=expected):
            jitted.lower(x)
        held = jitted(ARGUMENTS["uncommitted"])
        assert held.sharding == SingleDeviceSharding(DEVICES[1])
        assert held.committed
    assert jitted(x).sharding == SingleDeviceSharding(DEVICES[3])


def test_strict_placement_does_not_protect_donated_arrays():
    captured = jnp.ones(64)
    jitted = engine.jit(lambda x: x + captured, constants="simplified", donate_argnums=0)
    error = pytest.raises(jax.errors.JaxRuntimeError, match="Attempt to donate a buffer")
    with engine.strict_placement(True), error:
        jitted(captured)


def test_prng_keys_follow_the_arguments(side):
    keys = [jax.random.split(jax.random.key(i), 8) for i in (1, 2)]
    one, two = (jax.device_put(key, DEVICES[i]) for i, key in enumerate(keys, 1))
    expected = 1 + jax.random.uniform(keys[0][0]) + jax.random.uniform(keys[1][0])

    def draw(x):
        return x + jax.random.uniform(one[0]) + jax.random.uniform(two[0])

    for result in results(draw, jnp.float32(1), constants=side):
        assert result.devices() == {DEVICES[0]}
        assert not result.committed
        np.testing.assert_allclose(result, expected, rtol=1e-6)


def test_captured_keys_are_split_over_devices(side):
    """As `test_partial_auto_of_random_keys` of JAX: the array of their words has an axis more."""
    mesh = Mesh(np.array(DEVICES).reshape(4, 2), ("i", "j"))
    keys = jax.random.split(jax.random.key(0), 8)
    rows = PartitionSpec("i")
    mapped = jax.shard_map(
        lambda part: part, mesh=mesh, in_specs=rows, out_specs=rows, check_vma=False,
        axis_names={"i"},
    )  # fmt: skip

    def words(x):
        return x + jax.random.key_data(mapped(keys))

    for found in results(words, np.uint32(0), constants=side):
        np.testing.assert_array_equal(found, jax.random.key_data(keys))


REVERSED = NamedSharding(Mesh(np.array(DEVICES[::-1]), "i"), PartitionSpec("i"))


@pytest.mark.parametrize("way", ["argument", "in_shardings", "out_shardings"])
def test_a_sharded_array_follows_to_the_same_devices_in_another_order(side, way):
    array = CAPTURED["split"]
    x = jax.device_put(np.ones(64, np.float32), REVERSED) if way == "argument" else np.ones(64)
    options = {} if way == "argument" else {way: REVERSED}
    for result in results(lambda x: x + array, x, constants=side, **options):
        np.testing.assert_array_equal(result, 1 + np.arange(64.0))
        assert result.sharding == REVERSED


def test_the_platform_of_an_abstract_mesh_is_lowered_for(side):
    device = AbstractDevice(device_kind="cpu", num_cores=None, platform="cpu")
    mesh = AbstractMesh((2,), ("x",), (AxisType.Explicit,), abstract_device=device)
    x = jax.ShapeDtypeStruct((64,), jnp.float32)
    with use_abstract_mesh(mesh):
        jitted = engine.jit(lambda x: x * 2 + np.arange(64, dtype=np.float32), constants=side)
        assert "stablehlo.add" in jitted.lower(x).as_text()
        assert "stablehlo.add" in jitted.trace(x).lower().as_text()


@pytest.mark.parametrize("precompute", ["off", "auto"])
def test_an_argument_that_nothing_reads_may_be_anywhere(side, precompute, monkeypatch):
    monkeypatch.setattr(extraction, "LIMITS", Limits(2**30, 0, 1))
    array, unused = CAPTURED["split"], jax.device_put(np.float32(0), DEVICES[7])

    def fun(x, unused):
        return x + jnp.cumsum(array)

    x = ARGUMENTS["split"]
    for result in results(fun, x, unused, constants=side, precompute_constants=precompute):
        np.testing.assert_array_equal(result, 1 + np.cumsum(np.arange(64.0)))


def test_a_copy_that_protects_from_donation_is_made_on_the_device_of_the_array(side):
    device = AbstractDevice(device_kind="cpu", num_cores=None, platform="cpu")
    abstract = AbstractMesh((2,), ("x",), (AxisType.Explicit,), abstract_device=device)
    jitted = engine.jit(lambda x: x + PLAIN, constants=side, donate_argnums=0)
    with use_abstract_mesh(abstract):
        assert "stablehlo.add" in jitted.lower(jax.ShapeDtypeStruct((64,), jnp.float32)).as_text()
    for name in ("committed to 1", "uncommitted"):
        array = CAPTURED[name]
        of_mesh = engine.jit(lambda x, table=array: x + table, constants=side, donate_argnums=0)
        with jax.set_mesh(MESH):
            result = of_mesh(np.ones(64, np.float32))
        np.testing.assert_array_equal(result, 1 + np.arange(64.0))
