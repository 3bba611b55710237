"""Compiled programs as bytes: loaded here and elsewhere, with const args passed by the caller."""

import collections
import dataclasses
import json
import os
import platform
import subprocess
import sys
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental.layout import Format, Layout
from jax.sharding import AxisType, NamedSharding, SingleDeviceSharding
from jax.sharding import PartitionSpec as P
from program_files import script_file

import engine
from engine import export
from engine.export import ContainerError
from engine.serialize_executable import deserialize_and_load, serialize


def compiled_of(side, fun, *args, **kwargs):
    options = kwargs.pop("options", {})
    lowered = engine.jit(fun, constants=side, **options).lower(*args, **kwargs)
    return lowered.compile()


def test_a_loaded_program_is_the_same_program(side, uses_table_everywhere, arguments):
    compiled = compiled_of(side, uses_table_everywhere, *arguments)
    loaded = deserialize_and_load(serialize(compiled), compiled.const_args)
    for _ in range(3):
        jax.tree.map(np.testing.assert_array_equal, loaded(*arguments), compiled(*arguments))
    assert loaded.args_info == compiled.args_info
    assert loaded.out_tree == compiled.out_tree
    assert "HloModule" in loaded.as_text()
    assert loaded.input_shardings == compiled.input_shardings
    assert loaded.output_shardings == compiled.output_shardings
    assert loaded.input_formats == compiled.input_formats
    assert loaded.in_avals == compiled.in_avals
    with pytest.raises(TypeError, match=r"Argument 'x' compiled with float32\[7,7\] and called"):
        loaded(jnp.ones((8, 7)), True)


def test_a_loaded_program_is_not_serialized_again(side, table):
    compiled = compiled_of(side, lambda x: x @ table, jnp.ones(7))
    loaded = deserialize_and_load(serialize(compiled), compiled.const_args)
    with pytest.raises(ValueError, match="keep the bytes that it was loaded from"):
        serialize(loaded)


def test_the_bytes_hold_no_constants():
    big = jnp.asarray(np.random.default_rng(0).normal(size=(256, 256)).astype(np.float32))
    sizes = {}
    for side in engine.SIDES:
        compiled = compiled_of(side, lambda x: x @ big, jnp.ones(256))
        assert [c is big for c in compiled.const_args] == [True] * (side == "simplified")
        sizes[side] = len(serialize(compiled))
    assert sizes["legacy"] > big.nbytes > 10 * sizes["simplified"]


def test_other_constants_may_be_passed(table):
    compiled = compiled_of("simplified", lambda x: x @ table, jnp.ones(7))
    blob = serialize(compiled)
    other = jnp.eye(7) * 3
    for given in ([other], (np.asarray(other),)):
        np.testing.assert_array_equal(
            deserialize_and_load(blob, given)(jnp.ones(7)), jnp.full(7, 3)
        )
    for given, message in [
        ([], "takes 1 const args, and 0 were given"),
        ([other, other], "takes 1 const args, and 2 were given"),
        ([other[:6]], r"const arg 0 of the program is float32 of shape \(7, 7\), .*\(6, 7\)"),
        ([other.astype(jnp.int32)], "int32 of shape .* was given"),
        ([[[1.0] * 7] * 7], "list, which is no array of JAX or NumPy was given"),
        ([jax.ShapeDtypeStruct((7, 7), jnp.float32)], "ShapeDtypeStruct, which is no array"),
        ([np.ma.array(other)], "MaskedArray, which is no array"),
    ]:
        with pytest.raises(ValueError, match=message):
            deserialize_and_load(blob, given)


def test_a_const_arg_is_copied_when_it_is_given():
    values = jnp.arange(1024.0)
    compiled = compiled_of("simplified", lambda x: x + values, jnp.zeros(1024))
    blob = serialize(compiled)
    given = np.ones(1024, np.float32)
    first, before_any_call = (deserialize_and_load(blob, [given]) for _ in range(2))
    np.testing.assert_array_equal(first(jnp.zeros(1024)), 1)
    given[:] = 2
    second = deserialize_and_load(blob, [given])
    for loaded, expected in [(second, 2), (before_any_call, 1), (first, 1)]:
        np.testing.assert_array_equal(loaded(jnp.zeros(1024)), np.full(1024, expected))


@pytest.mark.parametrize("x64_at_first", [False, True])
def test_const_args_keep_their_dtype_in_every_x64_mode(x64_at_first):
    with jax.enable_x64(True):
        table = np.arange(64.0)
        x = jax.ShapeDtypeStruct((64,), "float32")
        compiled = compiled_of("simplified", lambda x: (x + table).astype("float32"), x)
    given = np.arange(64.0)
    loaded, again = (deserialize_and_load(serialize(compiled), [given]) for _ in range(2))
    for mode in (x64_at_first, not x64_at_first):
        with jax.enable_x64(mode):
            for each in (compiled, loaded, again):
                np.testing.assert_array_equal(each(jnp.ones(64, "float32")), table + 1)
                assert each.const_args[0].dtype == np.float64


def test_a_donating_program_may_be_given_its_own_const_arg():
    first = jnp.arange(64.0)
    compiled = compiled_of(
        "simplified", lambda x: x + first, jnp.ones(64), options={"donate_argnums": 0}
    )
    given = jnp.arange(64.0) * 2
    expected = 2 * np.asarray(given)
    loaded = deserialize_and_load(serialize(compiled), [given])
    np.testing.assert_array_equal(loaded(given), expected)
    assert given.is_deleted()
    np.testing.assert_array_equal(loaded(jnp.zeros(64)), expected / 2)


def test_arguments_of_every_kind(side, table):
    """Donated, unused, by keyword, weakly typed, PRNG keys."""
    keys = jax.random.split(jax.random.key(5), 5)

    def fun(a, b, *, c):
        del b
        return {"a": a @ table, "c": c * 2, "u": jax.random.uniform(keys[1])}

    options = {"donate_argnums": 0}
    compiled = compiled_of(side, fun, jnp.ones((7, 7)), jnp.ones(3), c=2.0, options=options)
    loaded = deserialize_and_load(serialize(compiled), compiled.const_args)
    expected = compiled(jnp.ones((7, 7)), jnp.ones(3), c=2.0)
    given = jnp.ones((7, 7))
    for _ in range(2):
        given = jnp.ones((7, 7))
        found = loaded(given, jnp.ones(3), c=2.0)
        jax.tree.map(np.testing.assert_array_equal, found, expected)
    assert given.is_deleted()
    assert found["c"].weak_type
    assert loaded.args_info == compiled.args_info


def test_on_other_devices(side, table):
    compiled = compiled_of(side, lambda x: x @ table, jnp.ones(7))
    there = jax.devices()[5]
    loaded = deserialize_and_load(
        serialize(compiled), compiled.const_args, execution_devices=[there]
    )
    result = loaded(jax.device_put(jnp.ones(7), there))
    assert result.devices() == {there}
    np.testing.assert_array_equal(result, compiled(jnp.ones(7)))


@pytest.mark.parametrize("axis_type", [AxisType.Auto, AxisType.Explicit])
def test_on_eight_devices(side, axis_type):
    mesh = jax.make_mesh((4, 2), ("a", "b"), axis_types=(axis_type,) * 2)
    sharded = jax.device_put(jnp.arange(64.0).reshape(8, 8), NamedSharding(mesh, P(None, "b")))
    x = jax.device_put(jnp.ones((8, 8)), NamedSharding(mesh, P(None, "b")))
    compiled = compiled_of(side, lambda x: (x + sharded, x.sum()), x)
    loaded = deserialize_and_load(serialize(compiled), compiled.const_args)
    assert loaded.input_shardings == compiled.input_shardings
    for ours, theirs in zip(loaded(x), compiled(x), strict=True):
        np.testing.assert_array_equal(ours, theirs)
        assert ours.sharding.is_equivalent_to(theirs.sharding, ours.ndim)
        assert ours.aval == theirs.aval
    with pytest.raises(ValueError, match="compiled for 8 devices, and there are 4"):
        deserialize_and_load(
            serialize(compiled), compiled.const_args, execution_devices=jax.devices()[:4]
        )


@pytest.mark.parametrize(
    "keys",
    [(0, 1), (True, False), (0.5, 1.5), (("a", 0), ("b", (1, 2))), ("a", "b")],
    ids=str,
)
@pytest.mark.parametrize("mapping", [dict, collections.OrderedDict])
def test_dictionaries_may_have_keys_of_plain_data(mapping, keys):
    """`jax.export` itself allows strings only."""
    given = mapping(zip(keys, ({"a": 1.0}, [2.0, None]), strict=True))
    loaded = again(given)
    found = loaded(given)
    assert jax.tree.structure(loaded.args_info) == jax.tree.structure(((given,), {}))
    assert type(found) is mapping
    assert jax.tree.structure(found) == jax.tree.structure(given)
    assert jax.tree.leaves(found) == [leaf + 1 for leaf in jax.tree.leaves(given)]


def again(given):
    """A program that adds one to each leaf, written and loaded."""
    compiled = compiled_of("simplified", lambda tree: jax.tree.map(lambda x: x + 1, tree), given)
    return deserialize_and_load(serialize(compiled))


@pytest.mark.parametrize(
    "keys", [(b"a", b"b"), (frozenset(), frozenset("a")), (("a", np.int8(1)),)]
)
def test_a_key_that_is_not_plain_data_is_refused(keys):
    with pytest.raises(ValueError, match=r"a dict with the key .* cannot be written to a file"):
        again({"a": dict.fromkeys(keys, 1.0)})


def test_node_types_must_be_registered_with_jax_export():
    """Stock JAX unpickles them. Nothing is unpickled here, so the user registers them."""

    class State(NamedTuple):
        mean: Any
        count: Any

    @jax.tree_util.register_dataclass
    @dataclasses.dataclass
    class Parameters:
        weights: Any
        name: str = dataclasses.field(metadata={"static": True})

    for given, name, registers in [
        (State(1.0, 2.0), "State", "register_namedtuple_serialization"),
        (Parameters(1.0, "a"), "Parameters", "register_pytree_node_serialization"),
        (collections.defaultdict(list, a=1.0), "defaultdict", "register_pytree_node_serialization"),
    ]:
        with pytest.raises(
            ValueError, match=rf"{name} cannot be .* with engine.export.{registers}"
        ):
            again([given])
    export.register_namedtuple_serialization(State, serialized_name="tests.State")
    export.register_pytree_node_serialization(
        Parameters,
        serialized_name="tests.Parameters",
        serialize_auxdata=lambda static: json.dumps(static).encode(),
        deserialize_auxdata=lambda data: tuple(json.loads(data)),
    )
    given = {0: State(1.0, 2.0), 1: Parameters(3.0, "a")}
    assert again(given)(given) == {0: State(2.0, 3.0), 1: Parameters(4.0, "a")}


def test_programs_with_effects_callbacks_or_references_are_refused(side):
    def prints(x):
        jax.debug.print("{}", x)
        return x

    reference = jax.new_ref(jnp.zeros(9))

    def counts(x):
        reference[...] += x
        return x

    for fun in (prints, counts):
        with pytest.raises(NotImplementedError, match=r"a compiled program with .* cannot be"):
            serialize(compiled_of(side, fun, 1.0))
    with pytest.raises(TypeError, match="expected the result of engine"):
        serialize(jax.jit(lambda x: x).lower(1.0).compile())


@pytest.fixture
def blob(table):
    return bytes(serialize(compiled_of("simplified", lambda x: x @ table, jnp.ones(7))))


def test_damaged_bytes_never_reach_xla(blob, table, monkeypatch):
    def loaded(*_):
        raise AssertionError("damaged code was loaded")

    monkeypatch.setattr(engine.jax_internals, "executable_of", loaded)
    for place in range(0, len(blob), 7):
        damaged = bytearray(blob)
        damaged[place] ^= 1 << place % 8
        with pytest.raises(ContainerError):
            deserialize_and_load(damaged, [table])
    for length in range(0, len(blob), 97):
        with pytest.raises(ContainerError):
            deserialize_and_load(blob[:length], [table])


def test_a_view_of_the_bytes_may_have_any_layout(blob, table):
    numbers = np.frombuffer(blob, np.uint8)
    for given in (numbers.reshape(1, -1), np.repeat(numbers, 2)[::2]):
        loaded = deserialize_and_load(memoryview(given), [table])
        np.testing.assert_allclose(loaded(jnp.ones(7)), jnp.ones(7) @ table, rtol=1e-6)


def test_an_export_is_no_executable(table):
    jitted = engine.jit(lambda x: x @ table, constants="simplified")
    exported = engine.export.export(jitted, hoist_constants=True)(jnp.ones(7))
    with pytest.raises(ContainerError, match=r"of format 'constparity\.export' version '1', not"):
        deserialize_and_load(exported.serialize(), [table])
    with pytest.raises(ContainerError, match=r"of format 'constparity\.executable', not"):
        engine.export.deserialize(
            serialize(compiled_of("simplified", lambda x: x @ table, jnp.ones(7)))
        )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda m: m["versions"].update(jax="0.1"), "compiled for jax '0.1', and this is"),
        (lambda m: m["parts"].update(platform="tpu"), "compiled for platform 'tpu'"),
        (lambda m: m["parts"].update(platform_version="x"), "compiled for platform version 'x'"),
        (lambda m: m["parts"]["kept"].append(9), "has kept inputs that the program does not have"),
        (lambda m: m["parts"]["kept"].reverse(), "has kept inputs that the program does not have"),
        (lambda m: m["parts"].update(out_kinds=[]), "wrong number of values in out_kinds"),
        (lambda m: m.update(num_const_args=2), "differ in the number of const args"),
        (lambda m: m.update(num_const_args="2"), "lacks entries or has wrong ones"),
        (lambda m: m.update(num_const_args=-1, donated=[False] * 3), "number of const args"),
        (lambda m: m.update(num_const_args=2**64), "number of const args"),
        (lambda m: m.update(num_const_args=0, donated=[False] * 2), "number of const args"),
        (lambda m: m["donated"].append(True), "wrong number of values in donated"),
        (lambda m: m["parts"].update(in_kinds=["foo", "device"]), "in_kinds that do not fit"),
        (lambda m: m["parts"].update(in_kinds=["mesh", "device"]), "in_kinds that do not fit"),
        (lambda m: m["parts"].update(out_kinds=["mesh"]), "out_kinds that do not fit"),
        (lambda m: m["parts"].update(out_memories=["foo"]), "has a memory 'foo'"),
        (lambda m: m["versions"].clear(), "lacks entries or has wrong ones"),
        (lambda m: m["sha256"].clear(), "the code of the program is not what was written"),
    ],
)
def test_a_program_that_does_not_fit_is_refused(blob, table, change, message, monkeypatch):
    """The error comes before any code is loaded."""
    monkeypatch.setattr(engine.jax_internals, "executable_of", None)
    container = engine.artifacts.container.parse(memoryview(blob))
    manifest = json.loads(container.metadata["manifest"])
    change(manifest)
    metadata = {**container.metadata, "manifest": json.dumps(manifest)}
    del metadata["header_sha256"]
    changed = b"".join(engine.artifacts.container.chunks(metadata, container.tensors.values()))
    with pytest.raises(ValueError, match=message):
        deserialize_and_load(changed, [table])


def test_devices_are_needed(blob, table):
    with pytest.raises(ValueError, match="execution_devices has no devices"):
        deserialize_and_load(blob, [table], execution_devices=[])


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the instructions are those of x86")
@pytest.mark.parametrize("flag", ["--xla_cpu_max_isa=SSE4_2", ""])
def test_code_for_other_instructions_is_refused(flag):
    """XLA:CPU would load it and only log that it may crash; the number of devices is the same."""
    done = subprocess.run(
        [sys.executable, str(script_file("serialize_for_this_machine"))],
        env=os.environ | {"XLA_FLAGS": f"--xla_force_host_platform_device_count=2 {flag}"},
        capture_output=True, check=True, timeout=120,
    )  # fmt: skip
    if flag:
        with pytest.raises(ValueError, match="compiled for platform version 'cpu; cpu with instr"):
            deserialize_and_load(done.stdout)
    else:
        np.testing.assert_array_equal(
            deserialize_and_load(done.stdout)(jnp.ones(7)), jnp.full(7, 2)
        )


def test_in_another_process(side, tmp_path, table):
    compiled = compiled_of(side, lambda x: x @ table, jnp.ones(7))
    (tmp_path / "program").write_bytes(serialize(compiled))
    np.save(tmp_path / "table.npy", table)
    const_args = [tmp_path / "table.npy"] if side == "simplified" else []
    done = subprocess.run(
        [sys.executable, str(script_file("load_executable")), tmp_path / "program", *const_args],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    assert done.stdout.strip() == np.asarray(compiled(jnp.ones(7))).tobytes().hex()


def test_single_device_shardings_stay_so(side, table):
    compiled = compiled_of(side, lambda x: x @ table, jnp.ones(7))
    loaded = deserialize_and_load(serialize(compiled), compiled.const_args)
    assert loaded(jnp.ones(7)).sharding == SingleDeviceSharding(jax.devices()[0])


def test_a_type_that_only_the_writer_registered_is_not_called_damage():
    class Moments(NamedTuple):
        mean: Any

    export.register_namedtuple_serialization(Moments, serialized_name="tests.Moments")
    written = jax.export.export(jax.jit(lambda moments: moments.mean))(Moments(1.0)).serialize()
    elsewhere = written.replace(b"tests.Moments", b"tests.Nowhere")
    with pytest.raises(ValueError, match="not registered in this process") as refused:
        export.deserialize(elsewhere)
    assert not isinstance(refused.value, export.ContainerError)


def test_a_const_arg_may_have_a_layout_of_its_own():
    numbers = np.arange(12.0, dtype=np.float32).reshape(3, 4)
    table = jnp.asarray(numbers)
    compiled = compiled_of("simplified", lambda x: x + table, jnp.ones((3, 4)))
    columns = Format(Layout((1, 0)), SingleDeviceSharding(jax.devices()[0]))
    given = jax.device_put(numbers, columns)
    loaded = deserialize_and_load(serialize(compiled), [given])
    np.testing.assert_array_equal(loaded(jnp.ones((3, 4))), 1 + numbers)
