"""The constants note, statement by statement; docs/carry_on/constants_note.md lists these tests.

A test's name says which statement it holds, `future` for the handling that the note describes and
`previous` for the one before it.
"""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from evidence import array_literals, inlined_bytes
from jax import export, lax
from profiled import frames_of

import engine
from engine.runtime import executable_cache

LEGACY, SIMPLIFIED = engine.SIDES
TABLE = jnp.arange(100.0)


A_JAX_ARRAY = jnp.ones((16,), dtype=np.float32)


def jaxpr_of(fun, *args, constants=SIMPLIFIED):
    return engine.make_jaxpr(fun, constants=constants)(*args)


def lowered(fun, *args, constants=SIMPLIFIED):
    return engine.jit(fun, constants=constants).lower(*args)


def main_of(text):
    return next(line for line in text.splitlines() if "func.func public @main" in line)


# -- what a constant is ----------------------------------------------------------------------------


def test_scalars_are_not_constants():
    assert engine.jaxpr_const_args(jaxpr_of(lambda x: x * 2.0 + np.float32(3), 1.0)) == []


def test_operations_of_jnp_are_staged_out_and_create_no_constants():
    def f(x):
        return x + A_JAX_ARRAY + np.full((16,), 42.0) + jnp.full((16,), 142.0)

    constants = engine.jaxpr_const_args(jaxpr_of(f, 1.0))
    assert [float(np.asarray(c)[0]) for c in constants] == [1.0, 42.0]
    np.testing.assert_array_equal(engine.jit(f, constants=SIMPLIFIED)(1.0), 186.0)


# -- tracing ---------------------------------------------------------------------------------------


def test_future_constant_argument_of_a_primitive_is_a_literal_beside_it():
    [add] = jaxpr_of(lambda x: lax.add(x, TABLE), TABLE).eqns
    assert isinstance(add.invars[1], engine.Literal)
    assert add.invars[1].val is TABLE


def test_future_returned_constant_is_a_literal():
    [out] = jaxpr_of(lambda: TABLE).jaxpr.outvars
    assert isinstance(out, engine.Literal)
    assert out.val is TABLE


@pytest.mark.parametrize("value", [2.0, np.float32(2), np.ones(20), jnp.ones(20)])
def test_future_is_literalable_decides(value):
    assert engine.is_literalable(value)
    closed_jaxpr = jaxpr_of(lambda x: x * value, 1.0)
    assert closed_jaxpr.consts == []


# -- lowering --------------------------------------------------------------------------------------


def test_future_lowering_does_not_pull_arrays_to_the_host(monkeypatch):
    pulled = []
    value = type(TABLE)._value.fget
    monkeypatch.setattr(
        type(TABLE), "_value", property(lambda array: pulled.append(id(array)) or value(array))
    )

    def is_pulled(constants):
        array = jnp.arange(77.0) * 2
        lowered(lambda x: x + array, 1.0, constants=constants)
        return id(array) in pulled

    assert not is_pulled(SIMPLIFIED)
    assert is_pulled(LEGACY)


def test_future_large_constants_do_not_grow_the_hlo():
    def text_bytes(size, uses, constants):
        array = jnp.arange(float(size))
        fun = lambda x: [x * array + i for i in range(uses)]  # noqa: E731
        return len(lowered(fun, 1.0, constants=constants).as_text())

    assert text_bytes(10_000, 1, SIMPLIFIED) <= text_bytes(1_000, 1, SIMPLIFIED) + 200
    assert text_bytes(10_000, 1, LEGACY) > 5 * text_bytes(1_000, 1, LEGACY)


def test_future_jaxpr_const_args_are_unique_by_identity():
    other = jnp.arange(100.0)  # the same values, another array

    def f(x):
        return jax.jit(lambda y: y + TABLE)(x) * TABLE + lax.cond(
            x > 0, lambda: TABLE, lambda: other
        )

    found = engine.jaxpr_const_args(jaxpr_of(f, 1.0))
    assert len(found) == 2
    assert {id(c) for c in found} == {id(TABLE), id(other)}


def test_future_jaxpr_const_args_are_memoized_for_each_jaxpr(monkeypatch):
    inner = jax.jit(lambda y: y + TABLE)
    closed_jaxpr = jaxpr_of(lambda x: inner(x) + inner(x * 2), 1.0)
    asked = []
    monkeypatch.setattr(
        engine.ir.jaxprs,
        "is_hoistable",
        lambda value, *limits: asked.append(value) or engine.is_hoistable(value, *limits),
    )
    for _ in range(3):
        engine.jaxpr_const_args(closed_jaxpr)
    of_the_body, of_the_whole = asked
    assert of_the_body is TABLE
    assert of_the_whole == 2


def test_future_every_function_takes_one_argument_per_constant_that_it_needs():
    other = jnp.ones(50)
    inner = jax.jit(lambda y: (y + TABLE) * TABLE)
    text = lowered(lambda x: (inner(x), other), 1.0).as_text()
    [private] = [line for line in text.splitlines() if "func.func private" in line]
    assert main_of(text).count("jax.const = true") == 2
    assert private.count("jax.const = true") == 1


def test_future_const_args_come_after_dimension_variables_and_tokens_before_arrays():
    def f(x):
        jax.debug.print("{}", x[0], ordered=True)
        return x + TABLE[:1]

    [size] = export.symbolic_shape("n")[:1]
    traced = engine.jit(f, constants=SIMPLIFIED).trace(jax.ShapeDtypeStruct((size,), np.float32))
    main = main_of(traced.lower().as_text())
    marks = ('jax.global_constant = "n"', "jax.token", "jax.const")
    order = [main.index(mark) for mark in marks]
    assert order == sorted(order)
    arguments = main[main.index("(") : main.index(") ->")].split("%arg")[1:]
    assert "tensor<?xf32>" in arguments[-1]


def test_future_regions_use_the_constants_of_the_enclosing_function():
    text = lowered(
        lambda x: lax.fori_loop(0, 3, lambda _, c: jnp.sin(c * TABLE), x), TABLE
    ).as_text()
    assert main_of(text).count("jax.const = true") == 1
    assert inlined_bytes(text) == 0


def test_future_scalars_stay_constants_for_xla_to_fold():
    assert "dense<4.200000e+01>" in lowered(lambda x: x + TABLE * np.float32(42), 1.0).as_text()


def test_future_constants_that_arise_during_lowering_stay_inlined():
    text = lowered(lambda x: x + jax.random.bits(jax.random.key(0), (8,)), np.uint32(1)).as_text()
    assert "stablehlo.constant dense<" in text
    assert "jax.const" not in text


def test_future_export_does_not_hoist():
    exported = export.export(engine.jit(lambda x: x + TABLE, constants=SIMPLIFIED))(1.0)
    assert inlined_bytes(exported.mlir_module()) == TABLE.nbytes
    assert "jax.const" not in exported.mlir_module()


# -- compilation and execution ---------------------------------------------------------------------


def test_future_second_call_of_the_nullary_example_runs_no_python():
    const = jnp.full(10, 42.0)
    f = engine.jit(lambda: const, constants=SIMPLIFIED)
    f()
    assert frames_of(f) == 0
    assert len(f.lower().const_args) == 1


def test_future_const_args_are_kept_by_the_stages():
    stage = lowered(lambda x: x + TABLE, 1.0)
    compiled = stage.compile()
    assert len(stage.const_args) == len(compiled.const_args) == 1
    np.testing.assert_array_equal(compiled(1.0), 1 + TABLE)  # called without them


def test_future_executables_do_not_contain_their_constants(tmp_path):
    """The persistent cache holds one entry for a program over many values; legacy, one each."""
    executable_cache.forget()  # a program that has been here is not compiled, nor written

    def entries(constants):
        folder = tmp_path / constants
        _reset_cache()  # JAX may have looked for a cache already, where there was none
        jax.config.update("jax_compilation_cache_dir", str(folder))
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
        jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
        try:
            for value in range(3):
                array = np.full(123, value, np.float32)
                fun = functools.partial(lambda x, array: x + array, array=array)
                lowered(fun, np.ones(123, np.float32), constants=constants).compile()
        finally:
            jax.config.update("jax_compilation_cache_dir", None)
            jax.config.update("jax_persistent_cache_min_compile_time_secs", 1.0)
            jax.config.update("jax_persistent_cache_min_entry_size_bytes", 0)
            _reset_cache()
        return len(list(folder.glob("*-cache")))

    assert (entries(LEGACY), entries(SIMPLIFIED)) == (3, 1)


def _reset_cache():
    from jax.experimental.compilation_cache import compilation_cache

    compilation_cache.reset_cache()


@pytest.mark.parametrize("constants", engine.SIDES)
@pytest.mark.parametrize("flags", [(a, b, c) for a in (0, 1) for b in (0, 1) for c in (0, 1)])
def test_future_x64_at_lowering_rules_64_bit_constants(flags, constants):
    """jax_enable_x64 at lowering, compiling and calling: each cell is right."""
    at_lowering, at_compiling, at_calling = map(bool, flags)
    array = np.arange(20) / 3
    jitted = engine.jit(lambda x: x + array, constants=constants)
    x = np.ones(20, np.float32)
    with jax.enable_x64(at_lowering):
        stage = jitted.lower(x)
    with jax.enable_x64(at_compiling):
        compiled = stage.compile()
    with jax.enable_x64(at_calling):
        for _ in range(2):
            result = compiled(x)
            assert result.dtype == (np.float64 if at_lowering else np.float32)
            np.testing.assert_allclose(result, 1 + array, rtol=1e-15 if at_lowering else 1e-6)


# -- the previous implementation -------------------------------------------------------------------


def test_previous_closed_over_values_become_constvars_and_arguments_invars():
    closed_jaxpr = jaxpr_of(lambda x: x + TABLE, 1.0, constants=LEGACY)
    assert isinstance(closed_jaxpr, engine.ClosedJaxpr)
    assert isinstance(closed_jaxpr.jaxpr, engine.Jaxpr)
    [var], [const] = closed_jaxpr.jaxpr.constvars, closed_jaxpr.consts
    assert (var.aval.shape, const is TABLE) == ((100,), True)
    assert len(closed_jaxpr.jaxpr.invars) == 1
    assert array_literals(closed_jaxpr) == 0


def test_previous_consts_are_inlined():
    stage = lowered(lambda x: jax.jit(lambda y: y + TABLE)(x) * TABLE, 1.0, constants=LEGACY)
    assert inlined_bytes(stage.as_text()) == 2 * TABLE.nbytes  # once per function
    assert stage.const_args == []
    assert "jax.const" not in stage.as_text()


def test_previous_sharding_is_lost_and_future_sharding_kept():
    mesh = jax.make_mesh((4,), ("i",), axis_types=(jax.sharding.AxisType.Auto,))
    sharding = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("i"))
    array = jax.device_put(TABLE, sharding)
    legacy, simplified = (engine.jit(lambda: array * 2, constants=side)() for side in engine.SIDES)
    assert len(legacy.devices()) == 1
    assert simplified.sharding == sharding


def test_constants_as_inputs_do_not_disturb_transformations():
    """Auxiliary inputs are not differentiated, batched or donated with the arguments."""
    derivative = jax.grad(engine.jit(lambda x: jnp.sum(TABLE * x**2), constants=SIMPLIFIED))
    np.testing.assert_allclose(derivative(3.0), 6 * TABLE.sum())
    batched = jax.vmap(engine.jit(lambda x: x * TABLE, constants=SIMPLIFIED))
    np.testing.assert_array_equal(batched(jnp.arange(3.0)), jnp.arange(3.0)[:, None] * TABLE)
