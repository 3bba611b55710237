"""JAX's document on exporting, point by point, for each way to export a function.

docs/carry_on/export_points.md lists these tests. test_export_conventions.py has the points on
shapes, devices and calling conventions.

Source: JAX's document "Exporting and serializing staged-out computations".
"""

import collections
import os
import re
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from evidence import inlined_bytes
from jax import lax
from program_files import script_file
from ways_to_export import F32, TABLE, equal, exporting, rehydrated, spec, way

import engine
from engine import export

__all__ = ["exporting", "way"]  # fixtures

# -- exporting and serializing ---------------------------------------------------------------------


def test_an_exported_function_is_inspected_serialized_and_called(exporting, way):
    def f(x):
        return 2 * x * x * TABLE

    exported = exporting(f)(spec())
    assert exported.fun_name == "f"
    assert str(exported.in_avals) == "(ShapedArray(float32[]),)"
    [main] = re.findall(r".*@main.*", exported.mlir_module())
    assert "tensor<f32>" in main
    assert ("jax.const" in main) == (way == "hoisted")
    assert inlined_bytes(exported.mlir_module()) == (0 if way == "hoisted" else TABLE.nbytes)
    serialized = exported.serialize()
    assert isinstance(serialized, bytearray)
    found = export.deserialize(serialized)
    assert found.in_avals == exported.in_avals

    def callee(y):
        return 3.0 * found.call(y * 4.0)

    np.testing.assert_allclose(callee(1.0), 96.0 * TABLE, rtol=1e-6)
    np.testing.assert_allclose(jax.jit(callee)(1.0), 96.0 * TABLE, rtol=1e-6)


def test_the_attributes_are_those_of_stock_jax(way, exporting):
    def f(x, *, y):
        return {"r": x @ y * TABLE[0]}

    x, y = spec(3, 4), spec(4, 5)
    ours, theirs = exporting(f)(x, y=y), jax.export.export(jax.jit(f))(x, y=y)
    differ = {"mlir_module_serialized", "_get_vjp"}
    for name in jax.export.Exported.__dataclass_fields__:
        if name not in differ and not (way == "hoisted" and name.startswith("_")):
            assert getattr(ours, name) == getattr(theirs, name), name
    assert ours.has_vjp()
    assert ours.vjp().in_avals == theirs.vjp().in_avals
    assert ours.vjp().out_avals == theirs.vjp().out_avals


# -- reverse-mode AD -------------------------------------------------------------------------------


@pytest.mark.parametrize("order", range(4))
def test_derivatives_of_an_order(exporting, order):
    def f(x):
        return 7 * x * x * x * TABLE[3]

    found = rehydrated(exporting(f)(1.0), vjp_order=order).call
    expected = f
    for _ in range(order):
        found, expected = jax.grad(found), jax.grad(expected)
    np.testing.assert_allclose(found(0.1), expected(0.1), rtol=1e-5)
    with pytest.raises(ValueError, match="No VJP is available"):
        jax.grad(found)(0.1)


def test_a_derivative_that_is_not_there_is_not_serialized(exporting):
    found = rehydrated(exporting(lambda x: x * TABLE)(1.0))
    assert not found.has_vjp()
    with pytest.raises(ValueError, match="does not have vjps of high-enough order"):
        found.serialize(vjp_order=1)


def test_rules_of_the_user_are_respected(exporting):
    @jax.custom_vjp
    def f(x):
        return jnp.sum(x * TABLE)

    f.defvjp(lambda x: (f(x), None), lambda _, ct: (ct * 100 * TABLE,))
    here = exporting(jax.checkpoint(f))(TABLE)
    assert here.vjp().mlir_module().count("optimization_barrier") == 1
    found = rehydrated(here, vjp_order=1)
    equal(jax.grad(found.call)(TABLE), 100 * TABLE)


def test_other_transformations_are_not_supported(exporting):
    found = rehydrated(exporting(lambda x: x * TABLE[0])(1.0), vjp_order=1)
    with pytest.raises(TypeError, match=r"forward-mode autodiff \(jvp\)"):
        jax.jvp(found.call, (1.0,), (1.0,))
    with pytest.raises(NotImplementedError, match="call_exported"):
        jax.vmap(found.call)(jnp.ones(3))


STOCK_READER = script_file("read_plain_exports")


@pytest.fixture(scope="module")
def plain_exports(tmp_path_factory):
    """A folder with an export of each pipeline, and the bits of what its derivatives return."""

    def f(x):
        return jax.jit(lambda z: z * TABLE[2])(jnp.sum(jnp.sin(x * TABLE)))

    folder, expected = tmp_path_factory.mktemp("plain"), {}
    for side in engine.SIDES:
        blob = export.export(engine.jit(f, constants=side))(spec()).serialize(vjp_order=3)
        (folder / f"{side}.jax").write_bytes(blob)
        g = export.deserialize(blob).call
        for order in range(4):
            g = jax.grad(g) if order else g
            expected[f"{side}{order}"] = np.asarray(g(F32(0.3))).tobytes().hex()
    return folder, expected


@pytest.mark.parametrize("mode", ["0", "1"])
def test_stock_jax_reads_plain_exports_in_another_process(plain_exports, mode):
    """Called and differentiated, to the last bit, in both modes of JAX's flag."""
    folder, expected = plain_exports
    done = subprocess.run(
        [sys.executable, str(STOCK_READER), str(folder)],
        env={**os.environ, "JAX_USE_SIMPLIFIED_JAXPR_CONSTANTS": mode},
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert dict(line.split() for line in done.stdout.splitlines()) == expected


OTHER_PYTHON = "CONSTPARITY_OTHER_PYTHON"
HOISTED_READER = script_file("call_hoisted_export")


@pytest.mark.skipif(
    OTHER_PYTHON not in os.environ,
    reason=f"{OTHER_PYTHON} names no interpreter with another JAX, flatbuffers and safetensors",
)
def test_another_version_of_jax_reads_exports(plain_exports, tmp_path):
    folder, expected = plain_exports

    def f(x):
        return jnp.sum(jnp.sin(x * TABLE)) * TABLE[2]

    jitted = engine.jit(f, constants="simplified")
    export.export(jitted, hoist_constants=True)(spec()).save(tmp_path / "f")

    def read(script, *arguments):
        environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
        return subprocess.run(
            [os.environ[OTHER_PYTHON], str(script), *map(str, arguments)],
            env=environment, cwd=tmp_path, capture_output=True, text=True, check=True, timeout=300,
        ).stdout  # fmt: skip

    def number(hexadecimal):
        return np.frombuffer(bytes.fromhex(hexadecimal), F32)[0]

    found = dict(line.split() for line in read(STOCK_READER, folder).splitlines())
    assert found.keys() == expected.keys()
    for name, bits in found.items():
        np.testing.assert_allclose(number(bits), number(expected[name]), rtol=1e-5)
    hoisted = number(read(HOISTED_READER, tmp_path / "f", 0.3).strip())
    np.testing.assert_allclose(hoisted, number(expected["simplified0"]), rtol=1e-5)


# -- custom calls ----------------------------------------------------------------------------------


def custom_call_of(target):
    """A function that is lowered to a custom call; the document makes a primitive for it."""
    return jax.ffi.ffi_call(target, jax.ShapeDtypeStruct(TABLE.shape, TABLE.dtype))


def test_custom_calls_without_guarantees_are_refused(exporting):
    call = custom_call_of("my_new_prim")
    with pytest.raises(ValueError, match="no compatibility guarantees") as raised:
        exporting(lambda x: call(x + TABLE))(TABLE)
    assert "my_new_prim" in str(raised.value)


def test_a_check_of_custom_calls_is_disabled_by_name(exporting):
    call, check = custom_call_of("my_new_prim"), export.DisabledSafetyCheck.custom_call
    exported = exporting(lambda x: call(x + TABLE), disabled_checks=[check("my_new_prim")])(TABLE)
    assert exported.disabled_safety_checks == (check("my_new_prim"),)
    assert [c.is_custom_call() for c in exported.disabled_safety_checks] == ["my_new_prim"]
    assert "@my_new_prim" in exported.mlir_module()
    assert rehydrated(exported).disabled_safety_checks == (check("my_new_prim"),)
    with pytest.raises(ValueError, match="my_new_prim"):
        exporting(lambda x: call(x + TABLE), disabled_checks=[check("another")])(TABLE)


def test_custom_calls_with_guarantees_are_exported(exporting):
    matrix = jnp.eye(4) * 3
    found = rehydrated(exporting(lambda x: jnp.linalg.cholesky(x + matrix))(jnp.eye(4)))
    assert "lapack_spotrf_ffi" in found.mlir_module()
    np.testing.assert_allclose(found.call(jnp.eye(4)), 2 * np.eye(4))


# -- platforms -------------------------------------------------------------------------------------


def test_another_platform_is_an_error_unless_disabled(exporting):
    def f(x):
        return lax.cos(x) + TABLE

    assert export.default_export_platform() == "cpu"
    assert exporting(f)(1.0).platforms == ("cpu",)
    exported = rehydrated(exporting(f, platforms=["tpu"])(1.0))
    assert exported.platforms == ("tpu",)
    with pytest.raises(ValueError, match=r"'f' was exported for platforms '\('tpu',\)'") as raised:
        exported.call(1.0)
    assert "'('cpu',)'" in str(raised.value)
    check = export.DisabledSafetyCheck.platform()
    unsafe = rehydrated(exporting(f, platforms=["tpu"], disabled_checks=[check])(1.0))
    np.testing.assert_allclose(unsafe.call(1.0), np.cos(F32(1)) + TABLE, rtol=1e-6)


def test_one_export_for_several_platforms(exporting):
    def f(x):
        x = lax.platform_dependent(x, cpu=lambda x: x + TABLE[0], default=lambda x: x - TABLE[1])
        return lax.cos(x) + TABLE

    exported = exporting(f, platforms=["tpu", "cpu", "cuda"])(1.0)
    assert exported.platforms == ("tpu", "cpu", "cuda")
    assert 'jax.global_constant = "_platform_index"' in exported.mlir_module()
    expected = np.cos(F32(1.5)) + TABLE
    np.testing.assert_allclose(rehydrated(exported).call(1.0), expected, rtol=1e-6)


def test_several_platforms_are_hardly_larger_than_one(exporting):
    def f(x):
        for _ in range(300):
            x = jnp.cos(x)
        return x * TABLE

    single = exporting(f)(1.0)
    several = exporting(f, platforms=["cpu", "tpu", "cuda"])(1.0)
    sizes = [len(e.mlir_module_serialized) for e in (single, several)]
    assert sizes[0] <= sizes[1] < 1.1 * sizes[0]


# -- debugging -------------------------------------------------------------------------------------


def test_modules_are_logged_and_dumped(way, tmp_path):
    side = "legacy" if way == "legacy" else "simplified"
    script = script_file("export_with_logging")
    done = subprocess.run(
        [sys.executable, str(script), side, str(way == "hoisted")],
        env={**os.environ, "JAX_DUMP_IR_TO": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert "Exported JAX function: fun_name=sin version=" in done.stderr
    names = sorted(file.name for file in tmp_path.iterdir())
    [exported] = [name for name in names if name.endswith("_export.mlir")]
    assert re.fullmatch(r"jax_ir\d+_jit_sin_export\.mlir", exported)
    assert any(name.endswith("_compile.mlir") for name in names)
    assert ("jax.const" in (tmp_path / exported).read_text()) == (way == "hoisted")


# -- names -----------------------------------------------------------------------------------------


def test_names_are_those_of_jax_export():
    for name in set(jax.export.__all__) - {"export", "deserialize"}:
        assert getattr(export, name) is getattr(jax.export, name)
    with pytest.raises(AttributeError, match="no attribute 'no_such_name'"):
        export.no_such_name  # noqa: B018


def test_names_of_the_migration_guide(way, exporting):
    exported = exporting(lambda x: x + TABLE)(1.0)
    for name in ("uses_global_constants", "calling_convention_version", "platforms", "call",
                 "serialize", "nr_devices", "vjp", "has_vjp", "mlir_module"):  # fmt: skip
        assert hasattr(exported, name)
    for name in ("uses_shape_polymorphism", "mlir_module_serialization_version",
                 "lowering_platforms"):  # fmt: skip
        assert not hasattr(exported, name)
    with pytest.raises(ValueError, match="must be the result of"):
        export.export(lambda x: x)(1.0)
    with pytest.raises(TypeError, match="lowering_parameters"):
        export.export(engine.jit(lambda x: x), lowering_parameters=("cpu",))


# -- trees -----------------------------------------------------------------------------------------


def test_registered_trees_are_serialized(exporting):
    # JAX's registry is for ever, so each test registers a type of its own.
    point = collections.namedtuple("Point", "x y")
    export.register_namedtuple_serialization(point, serialized_name=f"Point of {id(point)}")
    found = rehydrated(exporting(lambda p: point(p.y * TABLE, p.x))(point(1.0, 2.0)))
    result = found.call(point(1.0, 2.0))
    equal(result.x, 2 * TABLE)
    assert type(result) is point
