"""trace -> lower -> compile: const args are kept apart from the user's arguments."""

import functools
import gc
import inspect
import itertools
import re
import weakref

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from evidence import inlined_bytes

import engine


@pytest.fixture
def stages(side, uses_table_everywhere, arguments):
    traced = engine.jit(uses_table_everywhere, constants=side).trace(*arguments)
    lowered = traced.lower()
    return traced, lowered, lowered.compile()


def test_stages_are_stages_of_jax(stages):
    for ours, stock in zip(
        stages, (jax.stages.Traced, jax.stages.Lowered, jax.stages.Compiled), strict=True
    ):
        assert isinstance(ours, stock)


def test_one_const_arg_per_array_or_none(stages, side, table):
    _, lowered, compiled = stages
    assert lowered.const_args == compiled.const_args
    assert lowered.num_const_args == len(lowered.const_args)
    if side == "legacy":
        assert lowered.const_args == []
    else:
        [only] = lowered.const_args
        np.testing.assert_array_equal(only, table)
        assert only.unsafe_buffer_pointer() == table.unsafe_buffer_pointer()  # not a copy


def test_constants_are_inlined_or_arguments_of_main(stages, side):
    _, lowered, _ = stages
    text = lowered.as_text()
    main = next(line for line in text.splitlines() if "func.func public @main" in line)
    if side == "legacy":
        assert inlined_bytes(text) > 0
        assert "jax.const" not in text
    else:
        assert inlined_bytes(text) == 0
        assert main.count("jax.const = true") == 1
        assert "@main(%arg0: tensor<7x7xf32> {jax.const = true}, %arg1" in main


def test_inner_functions_take_the_constants_that_they_need(table):
    other = jnp.ones(11)
    inner = jax.jit(lambda x: x + table)
    outer = engine.jit(lambda x: (inner(x), inner(x + 1), other), constants="simplified")
    text = outer.lower(jnp.ones((7, 7))).as_text()
    [private] = [line for line in text.splitlines() if "func.func private" in line]
    assert private.count("jax.const = true") == 1
    assert "tensor<11xf32>" not in private


def test_tokens_come_before_const_args_in_every_function(table):
    @jax.jit
    def inner(x):
        jax.debug.print("{}", table[0, 0], ordered=True)
        return x + table

    def fun(x):
        y, _ = jax.lax.scan(lambda c, _: (inner(c), None), x, None, length=2)
        return jax.lax.cond(y[0, 0] > 0, inner, lambda a: a, y) * table

    lowered = engine.jit(fun, constants="simplified").lower(table)
    functions = [line for line in lowered.as_text().splitlines() if "func.func" in line]
    assert len(functions) >= 2
    for function in functions:
        assert 0 < function.index("jax.token") < function.index("jax.const")


def test_descriptions_leave_const_args_out(stages, arguments):
    traced, lowered, compiled = stages
    shapes = jax.tree.map(jnp.shape, (arguments, {}))
    is_shape = lambda t: isinstance(t, tuple) and all(isinstance(d, int) for d in t)  # noqa: E731
    for stage in stages:
        assert jax.tree.map(lambda a: a.shape, stage.in_avals) == shapes
        assert jax.tree.map(lambda a: a.shape, stage.args_info) == shapes
    assert len(jax.tree.leaves(compiled.input_shardings)) == 2
    assert len(jax.tree.leaves(compiled.input_formats)) == 2
    assert len(jax.tree.leaves(shapes, is_leaf=is_shape)) == 2
    assert traced.out_info["y"].shape == lowered.out_info["y"].shape == (7, 7)
    assert set(compiled.output_shardings) == {"y", "table"}


def test_unused_arguments_are_described_too(side, table):
    lowered = engine.jit(lambda unused, x: x + table, constants=side).lower(jnp.ones(3), 1.0)
    compiled = lowered.compile()
    for stage in (lowered, compiled):
        assert [a.shape for a in stage.in_avals[0]] == [(3,), ()]
    np.testing.assert_array_equal(compiled(jnp.ones(3), 1.0), 1.0 + table)


def test_types_of_arguments_have_the_shardings_that_they_are_lowered_with(side, table):
    """JAX's `test_in_aval_matches_in_sharding`, with an array that is captured."""
    mesh = jax.make_mesh((2,), ("x",), axis_types=(jax.sharding.AxisType.Explicit,))
    spec = jax.sharding.PartitionSpec("x")
    with jax.set_mesh(mesh):
        jitted = engine.jit(
            lambda unused, x: x * table.sum(), in_shardings=(spec, spec), constants=side
        )
        lowered = jitted.lower(np.arange(4), np.arange(8))
    for stage in (lowered, lowered.compile()):
        unused, used = stage.in_avals[0]
        assert unused.shape == (4,)
        assert used.sharding == jax.sharding.NamedSharding(mesh.abstract_mesh, spec)


def test_analyses(stages, side, table):
    _, lowered, compiled = stages
    assert lowered.cost_analysis()["flops"] > 0
    assert compiled.cost_analysis()["flops"] > 0
    memory = compiled.memory_analysis()
    arguments = 49 * 4 + 1
    assert memory.argument_size_in_bytes == arguments + (table.nbytes if side != "legacy" else 0)
    assert "HloModule" in compiled.as_text()
    assert lowered.compiler_ir().operation.name == "builtin.module"
    assert lowered.as_text("hlo").startswith("HloModule")


def test_compiled_is_called_with_the_arguments_alone(stages, uses_table_everywhere, arguments):
    expected = jax.jit(uses_table_everywhere)(*arguments)
    compiled = stages[-1]
    for _ in range(2):
        np.testing.assert_allclose(compiled(*arguments)["y"], expected["y"], rtol=1e-6, atol=1e-6)
    with pytest.raises(TypeError, match="Argument 'x' compiled with float32\\[7,7\\] and called"):
        compiled(jnp.ones((8, 7)), True)
    with pytest.raises(TypeError, match="input pytree does not match"):
        compiled(*arguments, 3)


def test_hoisting_can_be_declined(table):
    traced = engine.jit(lambda x: x * table + table, constants="simplified").trace(1.0)
    lowered = traced.lower(hoist_constants_as_args=False)
    assert lowered.const_args == []
    assert inlined_bytes(lowered.as_text()) == table.nbytes  # once per function, not per use
    np.testing.assert_array_equal(lowered.compile()(1.0), table + table)


def test_export_inlines(side, table):
    exported = jax.export.export(engine.jit(lambda x: x + table, constants=side))(1.0)
    assert len(exported.in_avals) == 1
    np.testing.assert_array_equal(exported.call(1.0), 1.0 + table)


def test_a_derivative_of_an_export_is_named_as_jax_names_it(table):
    def derivative(jitted, export):
        return export.export(jitted)(1.0).vjp()

    def fun(x):
        return x + table

    ours = derivative(engine.jit(fun, constants="legacy"), engine.export)
    expected = derivative(jax.jit(fun), jax.export)
    assert ours.fun_name == expected.fun_name
    modules = ours.mlir_module(), expected.mlir_module()
    ours_named, expected_named = (re.findall(r'loc\("(\w+)\[', module) for module in modules)
    assert ours_named == expected_named != []


def test_dead_constants_are_not_passed(table):
    def fun(x):
        _ = x * table
        return x

    assert engine.jit(fun, constants="simplified").lower(1.0).const_args == []


def test_embed_threshold(table):
    jitted = engine.jit(lambda x: x + table, constants="simplified")
    with engine.embedded_constants_max_bytes(table.nbytes):
        assert jitted.lower(1.0).const_args == []
        np.testing.assert_array_equal(jitted(1.0), 1.0 + table)
    with engine.embedded_constants_max_bytes(table.nbytes - 1):
        assert len(jitted.lower(1.0).const_args) == 1
    small = np.arange(8, dtype=np.float32)  # 32 bytes: embedded by default
    assert engine.jit(lambda x: x + small, constants="simplified").lower(1.0).const_args == []


def test_typed_random_keys_are_hoisted(side):
    keys = jax.random.split(jax.random.key(0), 8)
    jitted = engine.jit(lambda x: x + jax.vmap(jax.random.uniform)(keys), constants=side)
    expected = 1.0 + jax.vmap(jax.random.uniform)(keys)
    lowered = jitted.lower(1.0)
    assert len(lowered.const_args) == (1 if side == "simplified" else 0)
    np.testing.assert_array_equal(jitted(1.0), expected)
    np.testing.assert_array_equal(jitted(1.0), expected)
    np.testing.assert_array_equal(lowered.compile()(1.0), expected)


@pytest.mark.filterwarnings("ignore:Explicitly requested dtype float64")
@pytest.mark.parametrize("at_capture", [True, False])
@pytest.mark.parametrize("kind", ["numpy", "jax", "jax scalar", "python"])
def test_x64_at_capture_lowering_compiling_and_calling(side, kind, at_capture):
    """Each cell of the matrix is as in stock JAX: the same numbers or the same error."""
    make = {
        "numpy": lambda: np.arange(20) / 3,
        "jax": lambda: jnp.arange(20) / 3,
        "jax scalar": lambda: jnp.array(1 / 3),
        "python": lambda: 1 / 3,
    }[kind]

    def outcome(jit, at_lowering, at_compiling, at_calling):
        # A new array for each cell: JAX keeps the canonical form of a NumPy array while a program
        # that captured it lives, even if the flag changes (jax 0.10.2).
        with jax.enable_x64(at_capture):
            value = make()
        x = np.ones(20, np.float32)
        try:
            with jax.enable_x64(at_lowering):
                lowered = jit(lambda x: (x + value, value)).lower(x)
            with jax.enable_x64(at_compiling):
                compiled = lowered.compile()
            with jax.enable_x64(at_calling):
                results = [*compiled(x), *compiled(x)]
        except (TypeError, ValueError) as error:
            return type(error), str(error)
        return [(r.dtype, r.weak_type, np.asarray(r).tobytes()) for r in results]

    ours = functools.partial(engine.jit, constants=side)
    for flags in itertools.product([True, False], repeat=3):
        assert outcome(ours, *flags) == outcome(jax.jit, *flags), flags


def test_constants_inside_primitives_without_a_rule_are_hoisted_by_jax(table, monkeypatch):
    """Treats shard_map as a primitive without a rule: still nothing is inlined."""
    monkeypatch.delitem(engine.ir.closures._RULES, "shard_map")
    mesh = jax.make_mesh((1,), ("i",), axis_types=(jax.sharding.AxisType.Auto,))
    spec = jax.sharding.PartitionSpec("i")
    mapped = jax.shard_map(lambda x: x + table, mesh=mesh, in_specs=spec, out_specs=spec)
    jitted = engine.jit(mapped, constants="simplified")
    x = jnp.ones((7, 7))
    lowered = jitted.lower(x)
    assert inlined_bytes(lowered.as_text()) == 0
    assert len(lowered.const_args) == 1
    np.testing.assert_array_equal(jitted(x), 1.0 + table)
    np.testing.assert_array_equal(lowered.compile()(x), 1.0 + table)


@pytest.mark.parametrize("constants", ["legacy", "simplified"])
def test_a_dropped_compiled_stage_frees_its_captured_arrays(constants):
    """Without the garbage collector, even if the stage was never called."""
    gc.disable()
    try:
        for calls in (0, 1, 3):
            table = jnp.arange(100.0)
            gone = weakref.ref(table)
            jitted = engine.jit(lambda x, t=table: x + t, constants=constants)
            compiled = jitted.lower(1.0).compile()
            for _ in range(calls):
                compiled(1.0)
            del table, jitted, compiled
            assert gone() is None, calls
    finally:
        gc.enable()


def test_a_compiled_stage_is_called_like_one_of_jax():
    ours, stock = (jit(lambda x, *, y: x + y).lower(1.0, y=2.0).compile() for jit in JITS)
    assert callable(ours)
    assert inspect.signature(ours) == inspect.signature(stock)
    for args, kwargs in (((1.0,), {}), ((1.0, 2.0), {}), ((jnp.ones(3),), {"y": 2.0})):
        said = []
        for each in (ours, stock):
            with pytest.raises(TypeError) as raised:
                each(*args, **kwargs)
            said.append(str(raised.value))
        assert said[0] == said[1]


JITS = (engine.jit, jax.jit)


def test_lowering_within_a_trace_leaves_no_tracers_behind(side):
    table = jnp.ones((4, 4))
    inner = engine.jit(lambda x: x + table, constants=side, donate_argnums=0)

    @engine.jit(constants=side)
    def outer(x):
        inner.lower(jax.ShapeDtypeStruct((4, 4), jnp.float32)).as_text()
        return x * 2

    outer(jnp.ones(3))
    np.testing.assert_array_equal(inner(jnp.ones((4, 4))), np.full((4, 4), 2))


def test_const_args_are_marked_beside_captured_references():
    table, reference = jnp.arange(64.0), jax.new_ref(jnp.zeros(3))

    def fun(x):
        reference[...] += 1.0
        return jax.jit(lambda x: x + table)(x)

    text = engine.jit(fun, constants="simplified").lower(jnp.ones(64)).as_text()
    main = next(line for line in text.splitlines() if "@main" in line)
    arguments = [argument.partition("%arg")[2] for argument in main.split(", %")]
    assert main.count("jax.const") == 1
    assert "jax.const" in main[: main.index("%arg1")], arguments


def test_functions_that_jax_traces_when_it_lowers_take_the_form_of_the_side(side, table):
    """A root's derivative: since jax 0.12 a primitive that holds functions of the user."""

    def root(x):
        return jax.lax.custom_root(
            lambda v: v - x * table * table,
            x,
            lambda residual, v: v - residual(v),
            lambda linear, y: y / linear(jnp.ones_like(y)),
        )

    def fun(x):
        y, tangent_of = jax.linearize(root, x)
        return y + tangent_of(x)

    x = jnp.ones((7, 7))
    lowered = engine.jit(fun, constants=side).lower(x)
    assert (inlined_bytes(lowered.as_text()) == 0) is (side == "simplified")
    assert len(lowered.const_args) == (1 if side == "simplified" else 0)
    np.testing.assert_allclose(lowered.compile()(x), jax.jit(fun)(x), rtol=1e-6)


@pytest.mark.skipif(not hasattr(jax.stages.Traced, "closure_convert"), reason="since jax 0.11.1")
def test_captured_arrays_become_arguments_in_both_forms(side):
    """Stock JAX returns none of them in the simplified form."""
    table, x = jnp.arange(12.0), jnp.ones(12)
    scan = functools.partial(jax.lax.scan, lambda v, _: (v * table, None), length=1)
    traced = engine.jit(lambda x: scan(x)[0] + table, constants=side).trace(x)
    consts, function = traced.closure_convert()
    passed, with_argument = traced.with_consts_as_arg()
    assert [a is table for a in (*consts, *passed)] == [True, True]
    assert traced.closure_convert()[1] is function
    np.testing.assert_array_equal(function([2 * table], x), 4 * table)
    np.testing.assert_array_equal(with_argument.lower().compile()([2 * table], x), 4 * table)


def test_stages_in_legacy_form_hold_no_captured_array_as_in_jax():
    def lowered(jit):
        table = jnp.arange(64.0)
        return jit(lambda x: x + table).lower(1.0), weakref.ref(table)

    for jit in (jax.jit, engine.jit(constants="legacy")):
        stage, table = lowered(jit)
        compiled = stage.compile()
        assert compiled(1.0)[1] == 2.0
        gc.collect()
        assert table() is None
