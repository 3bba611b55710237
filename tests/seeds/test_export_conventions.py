"""JAX's document on exporting: its points on shapes, devices and calling conventions.

docs/carry_on/export_points.md lists these tests.

Source: JAX's document "Exporting and serializing staged-out computations".
"""

import re

import jax
import jax.extend
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.interpreters import mlir
from jax.sharding import AbstractMesh, AxisType, Mesh, NamedSharding
from jax.sharding import PartitionSpec as P
from ways_to_export import F32, TABLE, equal, exporting, rehydrated, spec, way

from engine import export

__all__ = ["exporting", "way"]  # fixtures

# -- shape polymorphism ----------------------------------------------------------------------------


def test_symbolic_shapes_and_captured_arrays(exporting):
    matrix = jnp.arange(12.0).reshape(3, 4)
    n, m = export.symbolic_shape("n, m", constraints=["n >= 2", "m <= 2 * n"])

    def f(x, y):
        return x @ matrix + y.sum() * x.shape[0]

    exported = exporting(f)(spec(n, 3), spec(m))
    assert [a.str_short() for a in exported.out_avals] == ["float32[n,4]"]
    assert exported.uses_global_constants
    for rows, columns in ((2, 3), (5, 7)):
        x, y = jnp.ones((rows, 3)), jnp.arange(float(columns))
        equal(exported.call(x, y), jax.jit(f)(x, y))
        equal(rehydrated(exported).call(x, y), jax.jit(f)(x, y))
    with pytest.raises(ValueError, match=r"symbolic shape constraint m <= 2 \* n"):
        exported.call(jnp.ones((2, 3)), jnp.ones(7))


def test_derivatives_of_symbolic_shapes(exporting):
    [n] = export.symbolic_shape("n")
    found = rehydrated(exporting(lambda x: jnp.sum(x * x) * TABLE[1])(spec(n)), vjp_order=1)
    equal(jax.grad(found.call)(jnp.arange(5.0)), 2 * jnp.arange(5.0) * TABLE[1])


def test_shapes_are_asserted_in_the_module(exporting):
    """The assertions of the document, and their words; they are checked again when called."""
    w, h = export.symbolic_shape("w, h")
    exported = exporting(lambda x: x + TABLE[0])(spec(w, 2 * h))
    text = exported.mlir_module()
    assert "stablehlo.custom_call @shape_assertion" in text
    for message in (
        "Division had remainder {0} when computing the value of 'h'",
        "Expected value >= 1 for dimension variable 'w'",
        "Expected value >= 1 for dimension variable 'h'",
        "args[0].shape = (w, 2*h)",
    ):
        assert message in text
    with pytest.raises(ValueError, match=r"remainder 1 when computing the value of 'h'"):
        exported.call(jnp.ones((2, 3)))
    with pytest.raises(ValueError, match="Expected value >= 1 for dimension variable 'w'"):
        exported.call(jnp.ones((0, 2)))


def test_scopes_of_symbolic_shapes_must_agree(exporting):
    [a], [b] = export.symbolic_shape("a"), export.symbolic_shape("b")
    assert export.is_symbolic_dim(a)
    with pytest.raises(ValueError, match="Invalid mixing of symbolic scopes"):
        exporting(lambda x, y: (x + TABLE[0], y))(spec(a), spec(b))
    scope = export.SymbolicScope()
    [a], [b] = export.symbolic_shape("a", scope=scope), export.symbolic_shape("b", scope=scope)
    exporting(lambda x, y: (x + TABLE[0], y))(spec(a), spec(b))


def test_specifications_of_arguments(exporting):
    args = (jnp.ones((4, 16)), {"k": jnp.ones(4)})
    specs = export.symbolic_args_specs(args, ("b, ...", {"k": "b"}))
    exported = exporting(lambda x, d: x * TABLE + d["k"][:, None])(*specs)
    assert [a.str_short() for a in exported.in_avals] == ["float32[b,16]", "float32[b]"]
    equal(exported.call(*args), jnp.ones((4, 16)) * TABLE + 1)


# -- devices and shardings -------------------------------------------------------------------------


def auto_mesh(devices, *axes):
    return Mesh(np.array(devices), axes, axis_types=(AxisType.Auto,) * len(axes))


@pytest.mark.parametrize("concrete", [False, True])
def test_an_export_does_not_depend_on_devices(exporting, concrete):
    mesh = AbstractMesh((4,), ("a",), axis_types=(AxisType.Auto,))
    if concrete:
        mesh = auto_mesh(jax.devices()[:4], "a")
    exported = exporting(lambda x: x.T * TABLE[1])(spec(32, sharding=NamedSharding(mesh, P("a"))))
    assert exported.nr_devices == 4
    [of_input] = exported.in_shardings_jax(auto_mesh(jax.devices()[4:], "a"))
    assert of_input == NamedSharding(auto_mesh(jax.devices()[4:], "a"), P("a"))
    [of_output] = exported.out_shardings_jax(auto_mesh(jax.devices()[4:], "a"))
    assert of_output is None or of_output.mesh.devices.size == 4
    assert len(exported.in_shardings_hlo) == 1
    found = rehydrated(exported)
    x = jnp.arange(32.0)
    first = found.call(jax.device_put(x, NamedSharding(auto_mesh(jax.devices()[:4], "a"), P("a"))))
    shards = [(s.device.id, s.index[0].start, s.index[0].stop) for s in first.addressable_shards]
    assert shards[:2] == [(0, 0, 8), (1, 8, 16)]
    equal(first, x * TABLE[1])
    # Other devices, and a mesh of another shape, of as many devices.
    other = auto_mesh(np.array(jax.devices()[2:6]).reshape(2, 2), "b", "c")
    second = found.call(jax.device_put(x, NamedSharding(other, P("b"))))
    shards = [(s.device.id, s.index[0].start, s.index[0].stop) for s in second.addressable_shards]
    assert shards[:2] == [(2, 0, 8), (3, 8, 16)]
    equal(second, x * TABLE[1])


def test_another_number_of_devices_is_an_error(exporting):
    mesh = auto_mesh(jax.devices(), "a")
    exported = exporting(lambda x: x.T * TABLE[1])(spec(32, sharding=NamedSharding(mesh, P("a"))))
    with pytest.raises(ValueError, match="was exported for 8 devices and is called in a context"):
        exported.call(jnp.arange(32.0))


def test_arguments_are_sharded_for_a_mesh_of_the_caller(exporting):
    mesh = auto_mesh(jax.devices(), "a")
    exported = exporting(lambda x: x.T * TABLE[1])(spec(32, sharding=NamedSharding(mesh, P("a"))))
    calling = auto_mesh(jax.devices()[::-1], "a")
    [sharding] = exported.in_shardings_jax(calling)
    assert sharding == NamedSharding(calling, P("a"))
    x = jax.device_put(jnp.arange(32.0), sharding)
    result = rehydrated(exported).call(x)
    assert result.devices() == set(jax.devices())
    places = {shard.index[0].start or 0: shard.device for shard in result.addressable_shards}
    assert [places[i] for i in sorted(places)] == jax.devices()[::-1]
    equal(result, jnp.arange(32.0) * TABLE[1])


def test_an_export_for_one_device_is_called_on_sharded_arguments(exporting):
    exported = exporting(lambda x: jnp.cos(x) * TABLE[1])(jnp.arange(4.0))
    assert exported.nr_devices == 1
    mesh = auto_mesh(jax.devices()[:4], "b")
    x = jax.device_put(jnp.arange(4.0), NamedSharding(mesh, P("b")))
    result = rehydrated(exported).call(x)
    assert result.sharding.device_set == set(jax.devices()[:4])
    np.testing.assert_allclose(result, np.cos(np.arange(4, dtype=F32)) * TABLE[1], rtol=1e-6)


def test_shardings_within_the_function(exporting):
    mesh = auto_mesh(jax.devices(), "a")
    sharding = NamedSharding(mesh, P("a"))

    def f(x):
        return lax.with_sharding_constraint(x * TABLE, sharding) + 1

    exported = rehydrated(exporting(f, out_shardings=NamedSharding(mesh, P()))(
        spec(16, sharding=sharding)))  # fmt: skip
    result = exported.call(jax.device_put(TABLE, sharding))
    np.testing.assert_allclose(result, TABLE * TABLE + 1, rtol=1e-6)
    assert result.sharding.is_fully_replicated


# -- calling conventions ---------------------------------------------------------------------------


def test_versions_of_the_calling_convention(exporting):
    low = export.minimum_supported_calling_convention_version
    high = export.maximum_supported_calling_convention_version
    assert low <= 9 <= high
    flag = "jax_export_calling_convention_version"
    default = jax.config.jax_export_calling_convention_version
    assert exporting(lambda x: x + TABLE)(1.0).calling_convention_version == default
    try:
        for version in (low, high):
            jax.config.update(flag, version)
            exported = exporting(lambda x: x + TABLE)(1.0)
            assert exported.calling_convention_version == version
            assert rehydrated(exported).calling_convention_version == version
            equal(rehydrated(exported).call(1.0), 1.0 + TABLE)
        jax.config.update(flag, high + 1)
        with pytest.raises(ValueError, match="is outside the range of supported versions"):
            exporting(lambda x: x + TABLE)(1.0)
    finally:
        jax.config.update(flag, default)


@pytest.fixture(scope="module")
def counting():
    """A primitive with an ordered effect that can be exported; JAX has none of its own."""
    from jax._src import effects  # noqa: TID251 - how JAX's own tests make one

    class CountingEffect(effects.Effect):
        __str__ = lambda self: "counting"  # noqa: E731

        def __eq__(self, other):
            return type(other) is CountingEffect

        def __hash__(self):
            return hash(CountingEffect)

    for kind in ("lowerable", "ordered", "control_flow_allowed"):
        getattr(effects, f"{kind}_effects").add_type(CountingEffect)
    primitive = jax.extend.core.Primitive("counts")
    primitive.def_effectful_abstract_eval(lambda x: (x, {CountingEffect()}))

    def lower(ctx, operand):
        ctx.set_tokens_out(ctx.tokens_in)
        return [operand]

    mlir.register_lowering(primitive, lower)
    return primitive.bind, CountingEffect()


def functions_of(text):
    return {
        name: re.findall(r"%arg\d+: (\S+?)(?=[ ,)])(?: (\{[^}]*\}))?", arguments)
        for name, arguments in re.findall(r"func\.func \w+ @(\w+)\((.*?)\) ->", text)
    }


def test_main_and_the_function_that_it_wraps(exporting, way, counting):
    """Platform index, dimension variables, tokens, const args, arrays: the document's example."""
    bind, effect = counting
    w, h = export.symbolic_shape("w, h")

    def f(x):
        return bind(x) * TABLE.sum()

    exported = exporting(f, platforms=["cpu", "tpu"])(spec(w, 2 * h))
    assert exported.ordered_effects == (effect,)
    functions = functions_of(exported.mlir_module(serialized=True))
    main, wrapped = functions["main"], functions["_wrapped_jax_export_main"]
    hoisted = [("tensor<16xf32>", "{jax.const = true}")] * (way == "hoisted")
    token = ("!stablehlo.token", "{jax.token = true}")
    index = ("tensor<i32>", '{jax.global_constant = "_platform_index"}')
    assert main[0] == index
    assert main[1][0] == "!stablehlo.token"
    assert main[2:-1] == hoisted
    assert main[-1][0] == "tensor<?x?xf32>"
    assert wrapped[:4] == [
        index,
        ("tensor<i32>", '{jax.global_constant = "h"}'),
        ("tensor<i32>", '{jax.global_constant = "w"}'),
        token,
    ]
    assert wrapped[4:-1] == hoisted
    assert wrapped[-1][0] == "tensor<?x?xf32>"
    found = rehydrated(exported)
    assert found.ordered_effects == (effect,)
    equal(found.call(jnp.ones((3, 4))), jnp.ones((3, 4)) * TABLE.sum())
    outer = str(jax.make_jaxpr(found.call)(jnp.ones((3, 4))))
    assert "call_exported" in outer


def test_callbacks_to_the_host_are_refused(exporting):
    def f(x):
        jax.debug.print("{}", x)
        return x + TABLE

    with pytest.raises(NotImplementedError, match="serialization of host_callbacks"):
        exporting(f)(1.0)


def test_arguments_that_are_not_used_are_not_passed(exporting):
    exported = exporting(lambda x, y, z: y + TABLE)(1.0, 2.0, 3.0)
    assert exported.module_kept_var_idx == (1,)
    equal(rehydrated(exported).call(1.0, 2.0, 3.0), 2.0 + TABLE)
