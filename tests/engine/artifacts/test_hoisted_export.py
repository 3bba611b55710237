"""Hoisted exports: made, called, differentiated, saved, placed on devices."""

import dataclasses
import functools
import subprocess
import sys
from typing import Any

import jax
import jax.extend
import jax.numpy as jnp
import numpy as np
import pytest
from hoisting import equal, exported
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P
from program_files import script_file

import engine
from engine import export


@pytest.fixture
def path(tmp_path):
    return tmp_path / "f.safetensors"


def test_one_array_is_one_constant(uses_table_everywhere, arguments, table):
    f = exported(uses_table_everywhere, *arguments)
    [constant] = f.constants
    assert constant is table
    assert f.mlir_module().count("jax.const = true") >= 1
    assert len(f.in_avals) == 2
    assert f.in_tree == jax.tree.structure((arguments, {}))
    assert f.module_kept_var_idx == (0, 1)
    equal(f.call(*arguments), jax.jit(uses_table_everywhere)(*arguments))


def test_it_has_the_attributes_of_an_exported_of_jax(table):
    names = {name for name in dir(jax.export.Exported) if not name.startswith("_")}
    names |= set(jax.export.Exported.__dataclass_fields__) - {
        "_has_named_shardings", "_in_named_shardings", "_out_named_shardings"
    }  # fmt: skip
    f = exported(lambda x: x @ table, jnp.ones(7))
    plain = jax.export.export(jax.jit(lambda x: x @ table))(jnp.ones(7))
    assert names <= set(dir(f))
    differ = {"mlir_module_serialized", "_get_vjp"}
    for name in names - differ:
        if not callable(getattr(f, name)):
            assert getattr(f, name) == getattr(plain, name), name


def test_main_takes_dimensions_tokens_constants_and_then_arguments(table):
    n, m = export.symbolic_shape("n, m")
    f = exported(lambda x: x.sum(0) @ table + x.shape[0], jax.ShapeDtypeStruct((n, 7), jnp.float32))
    text = f.mlir_module()
    [inner] = [row for row in text.splitlines() if "func private @_wrapped_jax_export_main" in row]
    places = [inner.index(word) for word in ('global_constant = "n"', "jax.const", "tensor<?x7")]
    assert places == sorted(places)
    x = jnp.arange(21.0).reshape(3, 7)
    np.testing.assert_allclose(f.call(x), x.sum(0) @ table + 3, rtol=1e-6)
    del m


def test_derivatives_leave_the_constants_alone(table, path):
    def f(x):
        return jnp.sum(jnp.tanh(x @ table) ** 2)

    x = jnp.linspace(-1, 1, 7)
    here = exported(f, x)
    derivative = here.vjp()
    assert [a.shape for a in derivative.in_avals] == [(7,), ()]
    assert [a.shape for a in derivative.out_avals] == [(7,)]
    assert [c.key for c in derivative.held] == [c.key for c in here.held]
    here.save(path, vjp_order=2)
    for g in (here, export.load(path)):
        np.testing.assert_allclose(jax.grad(g.call)(x), jax.grad(jax.jit(f))(x), rtol=1e-5)
        ours = jax.grad(lambda x, g=g: jax.grad(g.call)(x).sum())(x)
        theirs = jax.grad(lambda x: jax.grad(f)(x).sum())(x)
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("jit", [jax.jit, *(engine.jit(constants=side) for side in engine.SIDES)])
def test_any_program_may_contain_the_derivative_of_an_export(table, path, jit):
    x = jnp.linspace(-1, 1, 7)
    here = exported(lambda x: jnp.sum(jnp.tanh(x @ table) ** 2), x)
    expected = jax.grad(here.call)(x)
    np.testing.assert_allclose(jit(jax.grad(here.call))(x), expected, rtol=1e-6)
    again = exported(lambda x: jnp.sum(jnp.tanh(x @ table) ** 2), x)  # without a derivative yet
    np.testing.assert_allclose(jit(jax.grad(again.call))(x), expected, rtol=1e-6)


def test_an_export_made_during_a_trace_is_no_part_of_that_program(table):
    @jax.jit
    def outer(x):
        made.append(exported(lambda x: x @ table, x))
        return x

    made = []
    outer(jnp.ones(7))
    assert len(made[0].constants) == 1
    equal(made[0].call(jnp.ones(7)), jnp.ones(7) @ table)


def test_a_derivative_may_need_constants_of_its_own(path):
    scale = jnp.arange(100.0, 109.0)
    table = jnp.ones((9, 3))

    @jax.custom_vjp
    def f(x):
        return x @ table

    f.defvjp(lambda x: (f(x), None), lambda _, ct: (ct.sum() * scale / 3,))
    here = exported(lambda x: f(x).sum(), jnp.ones(9))
    assert [c is table for c in here.constants] == [True]
    assert [c is scale for c in here.vjp().constants] == [True]
    here.save(path, vjp_order=1)
    equal(jax.grad(export.load(path).call)(jnp.ones(9)), scale)


@pytest.mark.parametrize("order", range(4))
def test_derivatives_end_where_the_file_ends(path, order):
    table = jnp.linspace(0.5, 1.5, 9)

    def f(x):
        return jnp.sum(jnp.sin(table * x))

    exported(f, 0.3).save(path, vjp_order=order)
    ours, theirs = export.load(path).call, f
    for _ in range(order):
        ours, theirs = jax.grad(ours), jax.grad(theirs)
        np.testing.assert_allclose(ours(0.3), theirs(0.3), rtol=1e-5)
    with pytest.raises(ValueError, match="No VJP is available"):
        jax.grad(ours)(0.3)
    with pytest.raises(ValueError, match="does not have vjps of high-enough order"):
        export.load(path).save(path, vjp_order=order + 1)


def test_a_loaded_export_can_be_saved_again(path, table):
    exported(lambda x: x @ table, jnp.ones(7)).save(path, vjp_order=1)
    first = path.read_bytes()
    export.load(path).save(path, vjp_order=1)
    assert path.read_bytes() == first
    assert bytes(export.deserialize(first).serialize(vjp_order=1)) == first


def test_a_wrong_call_raises_the_error_of_jax(table):
    def fun(x, *, y):
        return x @ table + y["a"]

    example = {"args": (jnp.ones(7),), "kwargs": {"y": {"a": jnp.ones(7)}}}
    jitted = engine.jit(fun, constants="simplified")
    f = export.export(jitted, hoist_constants=True)(*example["args"], **example["kwargs"])
    plain = jax.export.export(jax.jit(fun))(*example["args"], **example["kwargs"])
    for args, kwargs in [
        ((jnp.ones(6),), {"y": {"a": jnp.ones(7)}}),
        ((jnp.ones(7, jnp.int32),), {"y": {"a": jnp.ones(7)}}),
        ((jnp.ones(7),), {"y": {"a": jnp.ones((7, 1))}}),
        ((jnp.ones(7),), {"y": {"b": jnp.ones(7)}}),
        ((), {"x": jnp.ones(7), "y": {"a": jnp.ones(7)}}),
    ]:
        messages = []
        for e in (plain, f):
            with pytest.raises(ValueError) as raised:  # noqa: PT011 - the two are compared
                e.call(*args, **kwargs)
            messages.append(str(raised.value))
        assert messages[0] == messages[1]


@jax.tree_util.register_dataclass
@dataclasses.dataclass
class Checked:
    """A pytree node that inspects its leaf when it is made."""

    a: Any

    def __post_init__(self):
        assert self.a.shape[-1] == 7


def test_pytree_nodes_may_inspect_their_leaves(table):
    jitted = engine.jit(lambda d, *, e: d.a @ table + e.a, constants="simplified")
    d = Checked(jnp.arange(7.0))
    f = export.export(jitted, hoist_constants=True)(d, e=d)
    assert f.in_tree == jax.tree.structure(((d,), {"e": d}))
    expected = jax.jit(lambda a: a @ table + a)(d.a)
    equal(f.call(d, e=d), expected)
    gradient = jax.grad(lambda a: f.call(Checked(a), e=d).sum())(d.a)
    equal(gradient, jax.jit(lambda ct: ct @ table.T)(jnp.ones(7)))


def test_it_is_called_within_a_program(path, table):
    exported(lambda x: x @ table, jnp.ones(7)).save(path)
    loaded = export.load(path)
    outer = engine.jit(lambda x: 2 * loaded.call(x), constants="simplified")
    equal(outer(jnp.ones(7)), 2 * jax.jit(lambda x: x @ table)(jnp.ones(7)))
    assert outer.lower(jnp.ones(7)).num_const_args == 1
    outermost = exported(lambda x: 2 * loaded.call(x), jnp.ones(7))
    assert len(outermost.constants) == 1
    equal(outermost.call(jnp.ones(7)), outer(jnp.ones(7)))


@pytest.mark.parametrize("traced_by_jax_before", [False, True])
def test_an_array_of_an_export_is_one_constant_of_the_program_around_it(traced_by_jax_before):
    """So a replacement applies to the derivative, too."""
    table = jax.device_put(jnp.arange(64.0), jax.devices()[0])  # committed: it is passed as a view
    x = jnp.ones(64)
    inner = jax.jit(exported(lambda x: x * table, x).call)
    if traced_by_jax_before:  # then the engine's program contains a body that JAX traced
        form = engine.jax_internals.form_of_jaxprs(True)
        with engine.use_simplified_constants(True), engine.jax_internals.held(form):
            inner(x)
    alone = exported(lambda x: inner(x).sum(), x)
    beside = exported(lambda x: (inner(x) + table * x).sum(), x)
    for outer, times in [(alone, 1), (beside, 2)]:
        assert [c is table for c in outer.constants] == [True]
        replaced = export.deserialize(outer.serialize(vjp_order=1), constants=[100 * table])
        equal(replaced.call(x), times * 100 * table.sum())
        equal(jax.grad(replaced.call)(x), times * 100 * table)


def test_constants_follow_the_arguments(table, path):
    exported(lambda x: x @ table, jnp.ones(7)).save(path)
    for f in (exported(lambda x: x @ table, jnp.ones(7)), export.load(path)):
        x = jax.device_put(jnp.ones(7), jax.devices()[3])
        assert f.call(x).devices() == {jax.devices()[3]}


def test_a_tracer_is_no_constant(path):
    x, weights = jnp.ones(64), jnp.arange(64.0)
    exported(lambda x: x * weights, x).save(path, vjp_order=1)

    def loss(w):
        return export.load(path, constants=[w]).call(x).sum()

    with pytest.raises(ValueError, match="constant 0 cannot be replaced by a tracer: load the"):
        jax.grad(loss)(weights)


def test_sharded_constants(path):
    mesh = jax.make_mesh((8,), ("a",), axis_types=(jax.sharding.AxisType.Auto,))
    sharded = jax.device_put(jnp.arange(64.0).reshape(8, 8), NamedSharding(mesh, P("a")))
    x = jax.device_put(jnp.ones((8, 8)), NamedSharding(mesh, P("a")))
    here = exported(lambda x: x + sharded, x)
    assert here.nr_devices == 8
    here.save(path)
    equal(here.call(x), 1 + sharded)
    other_mesh = jax.sharding.Mesh(np.array(jax.devices()[::-1]), ("a",))
    y = jax.device_put(jnp.ones((8, 8)), NamedSharding(other_mesh, P("a")))
    for options in ({}, {"mesh": other_mesh}):
        loaded = export.load(path, **options)
        result = loaded.call(y)
        equal(result, 1 + sharded)
        assert result.devices() == set(jax.devices())
    assert loaded.constants[0].sharding == NamedSharding(other_mesh, P("a"))
    assert [len(s.data) for s in loaded.constants[0].addressable_shards] == [1] * 8
    export.load(path, constants=[sharded])
    with pytest.raises(ValueError, match="was exported with sharding"):
        export.load(path, constants=[jax.device_put(sharded, NamedSharding(mesh, P(None, "a")))])
    with pytest.raises(
        ValueError, match="exported for 8 devices and is called in a context with"
    ) as caught:
        export.load(path).call(jnp.ones((8, 8)))
    assert any("load it with mesh=" in note for note in caught.value.__notes__)


def test_constants_on_two_meshes_are_refused():
    devices = np.array(jax.devices())
    eight, four = (
        jax.device_put(jnp.ones((8, 8)), NamedSharding(jax.sharding.Mesh(some, ("a",)), P("a")))
        for some in (devices, devices[:4])
    )
    with pytest.raises(ValueError, match="Received incompatible devices for jitted computation"):
        exported(lambda x: (x + eight) @ four, jnp.ones((8, 8)))


def test_an_export_of_a_function_that_donates_holds_no_copies():
    """A call of an export donates nothing, so the captured array is safe."""
    table, x = jnp.arange(64.0), jnp.ones(64)
    jitted = engine.jit(lambda x: x + table, constants="simplified", donate_argnums=0)
    here = export.export(jitted, hoist_constants=True)(x)
    [held] = here.held
    assert held.operand.unsafe_buffer_pointer() == table.unsafe_buffer_pointer()
    for _ in range(2):
        equal(here.call(table), 2 * table)
        equal(here.vjp().call(table, x), (x,))
    for jit in (jax.jit, functools.partial(engine.jit, constants="simplified")):
        donated = jnp.arange(64.0)
        outer = jit(here.call, donate_argnums=0)
        equal(outer(donated), 2 * table)
        assert donated.is_deleted()
        equal(outer(jnp.ones(64)), 1 + table)
    assert not table.is_deleted()


@pytest.mark.parametrize("hoist", [False, True])
def test_a_captured_reference_is_refused_by_name(hoist):
    reference = jax.new_ref(jnp.zeros(9))
    inner = jax.jit(lambda x: x + reference[...])

    def reads(x):
        return inner(x)

    to_export = export.export(engine.jit(reads, constants="simplified"), hoist_constants=hoist)
    with pytest.raises(NotImplementedError, match="`reads` captures a mutable reference"):
        to_export(1.0)


def test_the_legacy_side_has_nothing_to_hoist(table):
    jitted = engine.jit(lambda x: x @ table, constants="legacy")
    with pytest.raises(ValueError, match="needs the simplified pipeline"):
        export.export(jitted, hoist_constants=True)(jnp.ones(7))
    with (
        engine.use_simplified_constants(True),
        pytest.raises(ValueError, match=r"must be the result of engine\.jit"),
    ):
        export.export(jax.jit(lambda x: x), hoist_constants=True)(1.0)


def test_policy_and_threshold_apply_as_in_a_call(table):
    small = jnp.ones(3)
    f = engine.jit(
        lambda x: x @ table + small.sum(),
        constants="simplified",
        constant_policy=lambda c: "inline" if c.nbytes > 100 else "hoist",
    )
    [only] = export.export(f, hoist_constants=True)(jnp.ones(7)).constants
    assert only is small
    with engine.embedded_constants_max_bytes(1000):
        assert exported(lambda x: x @ table, jnp.ones(7)).constants == ()


def test_later_settings_do_not_change_the_constants_of_a_derivative(path):
    """The export decides what is a constant, not the later save."""
    scale = jnp.arange(1.0, 5.0)
    with engine.embedded_constants_max_bytes(0):
        here = exported(lambda x: jnp.sum(x**3 * scale), jnp.ones(4))
    with engine.embedded_constants_max_bytes(2**20), engine.constant_policy(lambda c: "inline"):
        here.save(path, vjp_order=2)
    scaled = export.load(path, constants={0: 100 * scale}).call
    equal(scaled(jnp.ones(4)), jnp.float32(1000))
    equal(jax.grad(scaled)(jnp.ones(4)), 300 * scale)
    equal(jax.grad(lambda x: jax.grad(scaled)(x).sum())(jnp.ones(4)), 600 * scale)


def test_nothing_is_precomputed_but_equal_arrays_may_be_one(path):
    """A reader may replace the captured arrays, so no result of them is stored."""
    table = jnp.eye(64) + jnp.linspace(0, 0.01, 64**2).reshape(64, 64)
    other = jnp.array(table)
    jitted = engine.jit(
        lambda x: x @ jnp.linalg.inv(table) @ other,
        constants="simplified",
        precompute_constants="auto",
        deduplicate_constants=True,
    )
    x = jnp.ones(64)
    assert any(c.shape != table.shape or (c != table).any() for c in jitted.lower(x).const_args)
    exported = export.export(jitted, hoist_constants=True)(x)
    [only] = exported.constants
    np.testing.assert_array_equal(only, table)
    exported.save(path, vjp_order=1)
    replaced = export.load(path, constants=[2 * jnp.eye(64)])
    np.testing.assert_allclose(replaced.call(x), x)
    assert len(exported.vjp().constants) == 1


def test_a_program_without_constants(path):
    exported(lambda x: x + 1, 1.0).save(path, vjp_order=1)
    assert export.load(path).call(1.0) == 2.0
    assert jax.grad(export.load(path).call)(1.0) == 1.0


def test_another_process_without_this_project_runs_the_program(path, table):
    """The file holds an export of JAX and tensors in a common format."""
    exported(lambda x: x @ table, jnp.ones(7)).save(path)
    pytest.importorskip("safetensors")
    done = subprocess.run(
        [sys.executable, str(script_file("call_hoisted_export")), str(path), str([1.0] * 7)],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    expected = jax.jit(lambda x: x @ table)(jnp.ones(7))
    assert done.stdout.strip() == np.asarray(expected).tobytes().hex()


@pytest.mark.parametrize("count", [1, 8])
def test_another_process_loads_it_on_one_and_on_eight_devices(path, count):
    mesh = jax.sharding.Mesh(np.array(jax.devices()[:count]), ("a",))
    sharding = NamedSharding(mesh, P("a"))
    table = jax.device_put(jnp.arange(64.0).reshape(8, 8), sharding)
    here = exported(lambda x: x + table, jax.device_put(jnp.ones((8, 8)), sharding))
    assert here.nr_devices == count
    here.save(path, vjp_order=1)
    done = subprocess.run(
        [sys.executable, str(script_file("load_on_devices")), str(path), str(count)],
        capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    expected = 1 + np.arange(64, dtype=np.float32)
    line = f"{expected.tobytes().hex()} {(2 * expected).tobytes().hex()}"
    assert done.stdout.splitlines() == [line, line]
