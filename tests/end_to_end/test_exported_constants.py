"""The constants of hoisted exports: every kind of array, kept once, mapped, and replaced."""

import jax
import jax.extend
import jax.numpy as jnp
import numpy as np
import pytest
from hoisting import equal, exported
from jax.sharding import NamedSharding, SingleDeviceSharding
from jax.sharding import PartitionSpec as P

import engine
from engine import export


@pytest.fixture
def path(tmp_path):
    return tmp_path / "f.safetensors"


def test_equal_content_is_stored_once_and_replaced_one_by_one(path):
    one, other = jnp.zeros(1000), jnp.zeros(1000)
    f = exported(lambda x: x + one + 2 * other, jnp.ones(1000))
    assert len(f.constants) == 2
    f.save(path)
    assert 4000 < path.stat().st_size < 4000 + 9000
    for number, expected in enumerate((1.0 + 1.0, 1.0 + 2.0)):
        g = export.load(path, constants={number: np.ones(1000, np.float32)})
        equal(g.call(jnp.ones(1000)), jnp.full(1000, expected))


@pytest.mark.parametrize(
    "types", [((256, "int4"), (256, "uint4")), ((64, "complex64"), ((64, 8), "uint8"))]
)
def test_equal_bytes_of_two_types_are_two_constants(types):
    one, other = (jnp.zeros(shape, dtype) for shape, dtype in types)
    f = exported(lambda x: (x, one, other), 1.0)
    loaded = export.deserialize(f.serialize())
    assert [c.aval for c in loaded.constants] == [c.aval for c in f.constants]
    equal(loaded.call(1.0), f.call(1.0))


def test_the_file_has_the_size_of_the_unique_arrays(path):
    big = jnp.asarray(np.random.default_rng(0).normal(size=(512, 512)).astype(np.float32))

    def f(x):
        y = jax.lax.cond(x.sum() > 0, lambda a: a @ big, lambda a: a - 1, x @ big)
        return jax.jit(lambda z: z * big[0])(y)

    x = jnp.ones(512)
    here = exported(f, x)
    here.save(path)
    assert len(here.mlir_module_serialized) < 100_000
    assert path.stat().st_size <= 1.01 * big.nbytes
    assert len(jax.export.export(jax.jit(f))(x).serialize()) >= big.nbytes
    equal(export.load(path).call(x), jax.jit(f)(x))


def test_loading_maps_and_does_not_copy(path, table):
    big = jnp.arange(4096.0)
    exported(lambda x: x @ table + big[:7], jnp.ones(7)).save(path)
    loaded = export.load(path)
    addresses = {c.unsafe_buffer_pointer() for c in loaded.constants}
    assert addresses == {c.unsafe_buffer_pointer() for c in loaded.constants}  # put there once
    with open("/proc/self/maps") as maps:
        ranges = [line.split()[0].split("-") for line in maps if line.rstrip().endswith(path.name)]
    mapped = [(int(first, 16), int(last, 16)) for first, last in ranges]
    assert all(any(a <= pointer < b for a, b in mapped) for pointer in addresses)


KINDS = {
    "float64": lambda: np.linspace(0, 1, 9),
    "bool": lambda: np.arange(40) % 3 == 0,
    "int4": lambda: jnp.arange(-4, 4).astype(jnp.int4).repeat(9),
    "uint4": lambda: (jnp.arange(72) % 16).astype(jnp.uint4),
    "bfloat16": lambda: jnp.arange(40, dtype=jnp.bfloat16),
    "float8_e4m3fn": lambda: jnp.arange(40).astype(jnp.float8_e4m3fn),
    "float8_e5m2fnuz": lambda: jnp.arange(40).astype(jnp.float8_e5m2fnuz),
    "float8_e5m2": lambda: jnp.arange(40).astype(jnp.float8_e5m2),
    "float8_e8m0fnu": lambda: np.arange(216, 256, dtype=np.uint8).view(jnp.float8_e8m0fnu),
    "float4_e2m1fn": lambda: jnp.arange(40).astype(jnp.float4_e2m1fn),
    "complex128": lambda: np.arange(9) * (1 + 2j),
    "no order of rows": lambda: np.arange(40.0, dtype=np.float32).reshape(5, 8).T,
    "not finite": lambda: np.array([np.nan, np.inf, -np.inf, -0.0] * 9, np.float32),
}


@pytest.mark.parametrize("kind", KINDS)
def test_constants_of_every_dtype(path, kind):
    with jax.enable_x64(True):
        constant = KINDS[kind]()
        f = exported(lambda x: (x, constant), 1.0)
        assert len(f.constants) == 1
        f.save(path)
        expected = jax.jit(lambda: constant)()
        one = jnp.float64(1)
    with jax.enable_x64(False):  # a constant keeps the dtype that was exported
        _, found = export.load(path).call(one)
    assert found.dtype == expected.dtype
    assert np.asarray(found).tobytes() == np.asarray(expected).tobytes()


def test_a_dtype_that_jax_cannot_export_is_named(path):
    constant = (jnp.arange(72) % 4).astype(jnp.uint2)
    with pytest.raises(ValueError, match=r"constants of dtype uint2 cannot be kept in a file"):
        exported(lambda x: (x, constant), 1.0).save(path)


@pytest.mark.parametrize("impl", ["threefry2x32", "rbg"])
def test_typed_keys_are_constants(path, impl):
    keys = jax.random.split(jax.random.key(7, impl=impl), 9)

    def f(i):
        return jax.random.uniform(keys[i], (3,))

    here = exported(f, 2)
    assert [c.dtype for c in here.constants] == [keys.dtype]
    here.save(path)
    loaded = export.load(path)
    equal(loaded.call(2), f(2))
    others = jax.random.split(jax.random.key(8, impl=impl), 9)
    equal(export.load(path, constants=[others]).call(2), jax.random.uniform(others[2], (3,)))
    with pytest.raises(ValueError, match="constant 0 is key<"):
        export.load(path, constants=[jax.random.key_data(others)])


def test_typed_keys_of_an_export_that_is_called_twice_are_one_constant():
    first, second = (jax.random.split(jax.random.key(seed), 8) for seed in (0, 1))
    inner = exported(lambda x: x + jax.random.uniform(first[3]), jnp.ones(64))
    loaded = export.deserialize(inner.serialize())
    assert loaded.constants[0] is loaded.constants[0]
    outer = exported(lambda x: (loaded.call(x), loaded.call(x)), jnp.zeros(64))
    replaced = export.deserialize(outer.serialize(), constants=[second])
    for f, keys in [(outer, first), (replaced, second)]:
        equal(f.call(jnp.zeros(64)), (jnp.full(64, jax.random.uniform(keys[3])),) * 2)


def test_only_fitting_arrays_replace_constants(path, table):
    exported(lambda x: x @ table, jnp.ones(7)).save(path, vjp_order=1)
    new = table + 1
    for constants in ([new], {0: new}, {0: np.asarray(new)}):
        g = export.load(path, constants=constants)
        equal(g.call(jnp.ones(7)), jax.jit(lambda x: x @ new)(jnp.ones(7)))
        gradient = jax.grad(lambda x, g=g: g.call(x).sum())(jnp.ones(7))
        equal(gradient, jax.jit(lambda ct: ct @ new.T)(jnp.ones(7)))
    on_two = NamedSharding(jax.make_mesh((7,), ("a",)), P("a"))
    for constants, message in [
        ({0: new[:6]}, r"constant 0 is float32 of shape \(7, 7\).*float32 of shape \(6, 7\)"),
        ({0: new.astype(jnp.int32)}, r"cannot be replaced by int32"),
        ({0: [[1.0] * 7] * 7}, "cannot be replaced by list"),
        ({0: np.ma.array(new)}, "cannot be replaced by MaskedArray, which is no array"),
        ({0: jax.ShapeDtypeStruct((7, 7), jnp.float32)}, "cannot be replaced by ShapeDtypeStruct"),
        ({1: new}, "no constant 1 to replace: the file has 1"),
        ({False: new}, "no constant False to replace"),
        ({0.0: new}, r"no constant 0\.0 to replace"),
        ([new, new], "the file has 1 constants, and 2 were given"),
        ([], "the file has 1 constants, and 0 were given"),
        (np.asarray(new), "constants= takes a sequence of arrays.* and not ndarray"),
        (new, "constants= takes a sequence of arrays.* and not ArrayImpl"),
        ("f", "constants= takes a sequence of arrays.* and not str"),
        ({0: jax.device_put(new, on_two)}, "cannot be replaced by an array with sharding"),
    ]:
        with pytest.raises(ValueError, match=message):
            export.load(path, constants=constants)


@pytest.mark.parametrize("constants", [None, {}])
def test_no_replacement_leaves_the_constants_of_the_file(path, table, constants):
    exported(lambda x: x @ table, jnp.ones(7)).save(path)
    equal(export.load(path, constants=constants).constants[0], table)


def test_a_replacement_is_a_copy_of_the_given_array(path, table):
    exported(lambda x: x @ table, jnp.ones(7)).save(path)
    new = np.asarray(table) + 1
    loaded = export.load(path, constants={0: new})
    expected = loaded.call(jnp.ones(7))
    new[:] = 0
    equal(loaded.call(jnp.ones(7)), expected)
    equal(loaded.constants[0], table + 1)


@pytest.mark.parametrize("count", [1, 8])
def test_constants_in_host_memory_are_loaded_to_host_memory(path, count):
    mesh = jax.make_mesh((count,), ("a",)) if count > 1 else None
    on = NamedSharding(mesh, P("a")) if mesh else SingleDeviceSharding(jax.devices()[0])
    kinds = ["pinned_host", "device"]
    held, free = (jax.device_put(np.arange(64.0), on.with_memory_kind(kind)) for kind in kinds)
    f = exported(lambda x: x + jax.device_put(held, jax.memory.Space.Device) * free, free)
    f.save(path)
    for constants in (None, {0: np.asarray(held)}, {0: held}):
        loaded = export.load(path, constants=constants, mesh=mesh)
        assert [c.sharding.memory_kind for c in loaded.constants] == kinds
        equal(loaded.call(free), f.call(free))


def test_constants_in_host_memory_follow_the_arguments_under_any_mesh(
    path,
):
    first, second = jax.devices()[:2]
    on = SingleDeviceSharding(first, memory_kind="pinned_host")
    held = jax.device_put(np.arange(64.0), on)
    exported(lambda x: x + jax.device_put(held, jax.memory.Space.Device), jnp.ones(64)).save(path)
    loaded = export.load(path)
    with jax.set_mesh(jax.make_mesh((8,), ("a",))), jax.transfer_guard("disallow"):
        [constant] = loaded.constants
    assert constant.devices() == {first}
    x = jax.device_put(jnp.ones(64), second)
    equal(loaded.call(x), x + np.arange(64.0))


def test_equal_constants_of_a_file_are_two_constants_of_a_caller():
    tables = [jnp.arange(64.0), jnp.arange(64.0)]
    x = jnp.ones(64)
    inner = export.deserialize(exported(lambda x: x * tables[0] + tables[1], x).serialize())
    assert [each is other for each in inner.constants for other in inner.constants] == [
        True, False, False, True,
    ]  # fmt: skip
    outer = exported(lambda x: inner.call(x), x).serialize()
    replaced = export.deserialize(outer, constants={0: 2 * tables[0]})
    equal(replaced.call(x), 2 * tables[0] + tables[1])


def test_equal_constants_of_a_file_may_be_donated_one_by_one():
    tables = [jnp.arange(64.0), jnp.arange(64.0)]
    x = jnp.ones(64)
    file = exported(lambda x: x * tables[0] + tables[1], x).serialize()
    first, second = export.deserialize(file).constants
    jax.jit(lambda given: given + 1, donate_argnums=0)(first)
    assert (first.is_deleted(), second.is_deleted()) == (True, False)
    first, second = export.deserialize(file).constants
    both = jax.jit(lambda m, v: (m + 1, v + 1), donate_argnums=(0, 1))(first, second)
    equal(both, (tables[0] + 1, tables[1] + 1))


def test_numpy_constants_are_transferred_once(path):
    table = np.arange(64, dtype=np.float32)
    here = exported(lambda x: x * table, jnp.ones(64))
    here.save(path)
    for f in (here, export.load(path, constants={0: table}), export.load(path)):
        f.call(jnp.ones(64))
        x = jnp.full(64, 2.0)
        with jax.transfer_guard("disallow"):
            results = f.call(x), jax.vjp(f.call, x)[0]
        equal(results, (2 * table,) * 2)


def test_numpy_constants_keep_their_dtype_in_every_x64_mode(path):
    with jax.enable_x64(True):
        table = np.arange(64.0)
        x = jax.ShapeDtypeStruct((64,), "float32")
        here = exported(lambda x: (x + table).astype("float32"), x)
        here.save(path)
    for f in (here, export.load(path), export.load(path, constants=[table])):
        assert [c.dtype for c in f.constants] == [np.float64]
        for call in (f.call, jax.jit(f.call), engine.jit(f.call, constants="simplified")):
            equal(call(jnp.ones(64)), 1 + np.arange(64))


def test_an_array_that_is_captured_beside_an_export_of_it_is_one_constant():
    table = np.arange(64, dtype=np.float32)
    here = exported(lambda x: jnp.sin(x) * table, jnp.ones(64))
    here.call(jnp.ones(64))
    for f in (lambda x: here.call(x) + table, jax.grad(lambda x: here.call(x).sum())):
        lowered = engine.jit(f, constants="simplified").lower(jnp.ones(64))
        assert lowered.num_const_args == 1


@pytest.mark.parametrize("view", [lambda blob: blob, memoryview])
def test_an_export_keeps_a_copy_of_its_bytes(table, view):
    blob = exported(lambda x: x @ table, jnp.ones(7)).serialize()
    not_yet_used, used = (export.deserialize(view(blob)) for _ in range(2))
    expected = used.call(jnp.ones(7))
    blob[:] = bytes(len(blob))
    for loaded in (not_yet_used, used):
        equal(loaded.call(jnp.ones(7)), expected)


def test_keys_of_a_user_defined_generator_are_refused(path):
    keys = jax.random.split(jax.random.key(0, impl=_own_generator()), 9)
    with pytest.raises((ValueError, NotImplementedError), match="own"):
        exported(lambda i: jax.random.key_data(keys[i]), 2).save(path)


def _own_generator():
    like = jax.extend.random.threefry_prng_impl
    return jax.extend.random.define_prng_impl(
        key_shape=(2,), seed=like.seed, split=like.split, random_bits=like.random_bits,
        fold_in=like.fold_in, name="own", tag="own",
    )  # fmt: skip
