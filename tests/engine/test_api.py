"""`engine.jit` behaves like `jax.jit`, except for captured arrays."""

import concurrent.futures
import functools
import gc
import inspect
import os
import subprocess
import sys
import time
import traceback
import weakref

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from profiled import frames_of
from program_files import script_file

import engine
from engine.jax_internals import lowering


def assert_equal(actual, expected):
    assert jax.tree.structure(actual) == jax.tree.structure(expected)
    for a, e in zip(jax.tree.leaves(actual), jax.tree.leaves(expected), strict=True):
        assert (a.dtype, a.shape, a.weak_type) == (e.dtype, e.shape, e.weak_type)
        np.testing.assert_allclose(a, e, rtol=1e-6, atol=1e-6)


def test_results_are_those_of_jax_jit(side, uses_table_everywhere, arguments):
    jitted = engine.jit(uses_table_everywhere, constants=side)
    expected = jax.jit(uses_table_everywhere)(*arguments)
    assert_equal(jitted(*arguments), expected)
    assert_equal(jitted(*arguments), expected)  # by the C++ fast path


def test_decorator_with_and_without_arguments(side):
    with engine.use_simplified_constants(side == "simplified"):

        @engine.jit
        def plain(x):
            return x + 1

        @engine.jit(static_argnames="n")
        def with_options(x, n=2):
            return x * n

        assert plain(1) == 2
        assert with_options(3) == 6
        assert with_options(3, n=4) == 12
    assert plain.__name__ == "plain"
    assert with_options.__wrapped__.__name__ == "with_options"


def test_static_and_keyword_arguments_and_pytrees(side, table):
    @functools.partial(engine.jit, constants=side, static_argnums=0)
    def pick(name, tree, *, scale):
        return {name: tree[name] * scale + table}

    tree = {"a": jnp.ones((7, 7)), "b": jnp.zeros((7, 7))}
    assert_equal(pick("a", tree, scale=2.0), {"a": 2.0 + table})
    assert_equal(pick("b", tree, scale=2.0), {"b": 0.0 + table})


def test_methods_and_partials(side, table):
    class Model:
        @functools.partial(engine.jit, constants=side, static_argnums=0)
        def __call__(self, x):
            return x + table

        @functools.partial(engine.jit, constants=side, static_argnums=0)
        def apply(self, x):
            return x * table

    model = Model()
    assert_equal(model(1.0), 1.0 + table)
    assert_equal(model.apply(2.0), 2.0 * table)
    partial = engine.jit(functools.partial(lambda a, b: a + b * table, 3.0), constants=side)
    assert_equal(partial(2.0), 3.0 + 2.0 * table)


def test_nothing_that_a_callable_holds_is_written_out(side, table):
    class Applies:
        def __call__(self, x):
            return x @ table

        def __repr__(self):
            raise AssertionError("its arrays would be copied to the host")

    x = np.ones(len(table), np.float32)
    assert_equal(engine.jit(Applies(), constants=side)(x), x @ table)


def test_donated_arguments_are_donated(side, table):
    @functools.partial(engine.jit, constants=side, donate_argnums=0)
    def add(x):
        return x + table

    x = jnp.zeros((7, 7))
    add(x)
    assert x.is_deleted()


def test_a_captured_array_may_be_donated_too(side):
    # Stock JAX, simplified: "attempt to donate a buffer which is also used".
    captured = jnp.ones((7, 7))
    add = engine.jit(lambda x: x + captured, constants=side, donate_argnums=0)
    assert_equal(add(jnp.zeros((7, 7))), jnp.ones((7, 7)))
    assert_equal(add(captured), 2 * jnp.ones((7, 7)))
    assert_equal(add(jnp.zeros((7, 7))), jnp.ones((7, 7)))


def test_second_call_runs_no_python(side, table):
    jitted = engine.jit(lambda x: x + table, constants=side)
    x = jnp.ones((7, 7))
    jitted(x)

    assert frames_of(jitted, x) == 0
    assert frames_of(jitted, jnp.ones((1, 7))) > 0  # the count can fail: this one is traced


def test_same_function_keeps_one_program_per_side(table):
    def fun(x):
        return x + table

    legacy, simplified = (engine.jit(fun, constants=side) for side in engine.SIDES)
    for _ in range(2):
        legacy(1.0)
        simplified(1.0)
        jax.jit(fun)(1.0)
    assert not legacy.lower(1.0).const_args
    assert len(simplified.lower(1.0).const_args) == 1


@pytest.mark.parametrize("depth", [1, 2])
def test_grad_from_outside(side, table, depth):
    def energy(x):
        return jnp.sum(jnp.tanh(x * table) ** 2)

    ours, reference = engine.jit(energy, constants=side), energy
    for _ in range(depth):
        ours, reference = (
            jax.grad(lambda x, f=ours: f(x).sum()),
            jax.grad(lambda x, f=reference: f(x).sum()),
        )
    np.testing.assert_allclose(
        ours(jnp.ones((7, 7))), reference(jnp.ones((7, 7))), rtol=2e-5, atol=1e-6
    )


def test_other_transformations_from_outside(side, uses_table_everywhere, arguments):
    jitted = engine.jit(uses_table_everywhere, constants=side)
    x, flag = arguments
    one = functools.partial(uses_table_everywhere, flag=flag)
    ours = functools.partial(jitted, flag=flag)

    batch = jnp.stack([x, x + 1])
    assert_equal(jax.vmap(ours)(batch), jax.vmap(one)(batch))
    assert_equal(jax.jit(ours)(x), jax.jit(one)(x))
    assert_equal(engine.jit(ours, constants=side)(x), jax.jit(one)(x))
    assert_equal(jax.checkpoint(ours)(x), jax.jit(one)(x))


def test_reverse_mode_from_outside(side, table):
    def fun(x):
        y, _ = jax.lax.scan(lambda c, row: (jnp.tanh(c * row + table), c), x, table)
        return jax.checkpoint(lambda z: jnp.sin(z @ table))(y)

    x, cotangent = jnp.ones((7, 7)) / 3, jnp.ones((7, 7))
    jitted = engine.jit(fun, constants=side)
    for transformed in (jitted, jax.jit(jitted), engine.jit(jitted, constants=side)):
        [ours], [expected] = (jax.vjp(f, x)[1](cotangent) for f in (transformed, fun))
        np.testing.assert_allclose(ours, expected, rtol=2e-5, atol=1e-6)


def test_forward_mode_from_outside(side, table):
    def fun(x):
        y, _ = jax.lax.scan(lambda c, row: (jnp.tanh(c * row + table), c), x, table)
        return jax.lax.cond(y.sum() > 0, lambda a: a * table, lambda a: a - table, y)

    x, tangent = jnp.ones((7, 7)) / 3, jnp.ones((7, 7))
    jitted = engine.jit(fun, constants=side)
    assert_equal(jax.jvp(jitted, (x,), (tangent,)), jax.jvp(fun, (x,), (tangent,)))
    _, linear = jax.linearize(jitted, x)
    assert_equal(linear(tangent), jax.jvp(fun, (x,), (tangent,))[1])


@pytest.fixture
def executed(monkeypatch):
    """The side of each program that is lowered for a call, and the number of its const args."""
    found = []
    lower_plan = engine.api.lower_plan

    def recording(pipeline, plan, *args):
        found.append((pipeline.side, plan.num_const_args))
        return lower_plan(pipeline, plan, *args)

    monkeypatch.setattr(engine.api, "lower_plan", recording)
    return found


def test_programs_derived_by_a_transformation_keep_their_side(side, table, executed):
    """jax.grad(engine.jit(f)) runs derived programs on f's side, not on the process's default."""
    jitted = engine.jit(lambda x: jnp.tanh(x * table).sum(), constants=side)
    jax.grad(jitted)(jnp.ones((7, 7)))
    jax.vmap(jitted)(jnp.ones((3, 7, 7)))
    assert executed
    assert {ran for ran, _ in executed} == {side}
    hoisted = sum(count for _, count in executed)
    assert hoisted == 0 if side == "legacy" else hoisted > 0


@pytest.mark.parametrize("before", ["legacy", "simplified"])
def test_an_eager_checkpoint_keeps_the_side_whoever_traced_it_before(side, table, before, executed):
    """JAX keeps the trace of a checkpoint, also of one in a program of the other side."""
    checkpointed = jax.checkpoint(engine.jit(lambda x: x * table, constants=side))
    engine.jit(lambda x: checkpointed(x) + 1, constants=before)(1.0)
    assert_equal(checkpointed(1.0), 1.0 * table)
    assert [ran for ran, _ in executed] == [before, side]


def test_an_inner_function_joins_the_side_that_the_outer_one_asked_for(side, table, executed):
    """JAX inlines the outer function, so that an eager checkpoint evaluates the inner one."""
    inner = engine.jit(lambda x: x * table)
    outer = engine.jit(lambda x: inner(x), constants=side, inline=True)
    assert_equal(jax.checkpoint(outer)(1.0), 1.0 * table)
    assert [ran for ran, _ in executed] == [side]


def test_plain_jax_jit_is_left_alone(table):
    """The hook for derived programs leaves programs of plain JAX alone."""
    before = jax.jit(lambda x: x + table)
    assert_equal(jax.vmap(before)(jnp.ones((2, 7, 7))), 1.0 + jnp.stack([table, table]))
    assert "jax.const" not in before.lower(1.0).as_text()


def test_the_outermost_program_decides(table):
    inner = engine.jit(lambda x: x + table, constants="legacy")
    outer = engine.jit(lambda x: inner(x) * table, constants="simplified")
    lowered = outer.lower(1.0)
    assert len(lowered.const_args) == 1
    assert_equal(outer(1.0), (1.0 + table) * table)


def test_captured_keys_that_only_dead_code_reads_are_not_passed():
    """Typed keys stay constvars in both forms, even of bodies whose equations were removed."""
    keys, table = jax.random.split(jax.random.key(0), 8), jnp.arange(16.0)

    def loss(x, wrapped):
        noise = lambda y: y + jax.vmap(jax.random.uniform)(keys)  # noqa: E731
        return jnp.sum((jax.jit(noise) if wrapped else noise)(x) * table[:8])

    for wrapped in (False, True):
        gradient = engine.jit(jax.grad(lambda x, w=wrapped: loss(x, w)), constants="simplified")
        for _ in range(2):
            np.testing.assert_array_equal(gradient(jnp.ones(8)), table[:8])
        [const_arg] = gradient.lower(jnp.ones(8)).const_args
        assert const_arg.shape == table.shape


def test_dropped_functions_free_their_arrays(side):
    array = jnp.arange(49.0)
    watch = weakref.ref(array)
    jitted = engine.jit(lambda x, captured=array: x + captured, constants=side)
    jitted(1.0)
    jitted.lower(1.0).compile()(1.0)
    del jitted, array
    gc.collect()
    assert watch() is None


def test_errors_are_those_of_jax_jit(side, table):
    jitted = engine.jit(lambda x: x + table, constants=side)
    with pytest.raises(TypeError, match="as an abstract array"):
        jitted("text")
    with pytest.raises(ValueError, match="Incompatible shapes"):
        jitted(jnp.ones(3))
    with pytest.raises(TypeError, match="unexpected keyword argument 'no_such_option'"):
        engine.jit(lambda x: x, no_such_option=1)
    with pytest.raises(TypeError, match="unexpected keyword argument 'no_such_option'"):
        engine.jit(no_such_option=1)  # at once, not when the decorator is applied
    with pytest.raises(TypeError, match="Expected a callable"):
        engine.jit(3)
    with pytest.raises(TypeError, match="Expected a callable"):
        engine.jit(None)
    with pytest.raises(ValueError, match="'legacy', 'simplified' or None, got 'new'"):
        engine.jit(lambda x: x, constants="new")
    with pytest.raises(jax.errors.TracerBoolConversionError):
        engine.jit(lambda x: 1 if x > 0 else 2, constants=side)(1.0)


def test_an_error_of_a_derived_program_names_devices_where_arguments_have_no_names(side, table):
    x, y = (jax.device_put(jnp.ones(1), device) for device in jax.devices()[:2])

    def derivative_fails(jitted):
        with pytest.raises(ValueError, match="incompatible devices") as error:
            jax.vmap(jax.grad(lambda x, y: jitted(x, y).sum()))(x, y)
        return str(error.value)

    def fun(x, y):
        return jnp.sin(x) * y + table

    assert derivative_fails(engine.jit(fun, constants=side)) == derivative_fails(jax.jit(fun))


def test_an_error_blames_no_constant_for_the_devices_that_jit_states(side, table):
    mesh = jax.make_mesh((len(jax.devices()),), ("x",), axis_types=(jax.sharding.AxisType.Auto,))
    everywhere = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec())

    def call_fails(jit):
        inner = jit(lambda x: x + table, out_shardings=everywhere)
        with pytest.raises(ValueError, match="incompatible devices") as error:
            jit(inner, in_shardings=jax.sharding.SingleDeviceSharding(jax.devices()[0]))(1.0)
        return str(error.value).split(" at ")[0]

    assert call_fails(functools.partial(engine.jit, constants=side)) == call_fails(jax.jit)


def test_debug_nans_names_the_operation(side, table):
    jitted = engine.jit(lambda x: jnp.log(x) + table, constants=side)
    with jax.debug_nans(True), pytest.raises(FloatingPointError, match="log"):
        jitted(-1.0)


def test_disable_jit_runs_the_function_itself(side):
    seen = []
    jitted = engine.jit(lambda x: seen.append(x) or x, constants=side)
    with jax.disable_jit():
        jitted(1.0)
    assert seen == [1.0]


def test_eval_shape_and_clear_cache(side, table):
    traces = []

    @functools.partial(engine.jit, constants=side)
    def fun(x):
        traces.append(x)
        return x + table

    assert fun.eval_shape(1.0).shape == (7, 7)
    fun(1.0)
    fun(1.0)
    assert len(traces) == 1
    fun.clear_cache()
    fun(1.0)
    assert len(traces) == 2


@pytest.mark.parametrize("transform", [jax.grad, jax.vmap, functools.wraps])
def test_a_wrapper_of_a_jitted_function_does_not_inherit_its_stages(side, table, transform):
    """A wrapper copies the function's `__dict__`: methods in it would be the inner function's."""
    jitted = engine.jit(lambda x: (x @ table).sum(), constants=side)
    if transform is functools.wraps:
        wrapper, x = functools.wraps(jitted)(lambda x: x * jitted(x)), table
    else:
        wrapper, x = transform(jitted), table if transform is jax.grad else table[None]
    assert not hasattr(wrapper, "lower")
    outer = jax.jit(wrapper)
    expected = wrapper(x)
    assert outer.eval_shape(x).shape == expected.shape
    assert jax.make_jaxpr(wrapper)(x).out_avals[0].shape == expected.shape
    np.testing.assert_allclose(outer.lower(x).compile()(x), expected, rtol=1e-5)
    assert jitted.trace(table).side == side


def test_stages_and_calls_share_one_lowering(side, table):
    jitted = engine.jit(lambda x: x @ table, constants=side)
    first = jitted.lower(table)
    assert jitted.lower(table).compiler_ir() is first.compiler_ir()
    assert jitted.lower(table).const_args == first.const_args


def test_derived_programs_may_be_lowered_by_many_threads(table, monkeypatch):
    """JAX gives all threads the same computation; its const args must be added once."""
    mark = lowering.mark_const_args

    def slow_mark(*args):
        time.sleep(0.05)
        mark(*args)

    monkeypatch.setattr(lowering, "mark_const_args", slow_mark)
    batched = jax.vmap(engine.jit(lambda x: x @ table, constants="simplified"))
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda _: batched(table[None]), range(4)))
    for result in results:
        np.testing.assert_allclose(result[0], table @ table, rtol=1e-5)


def test_one_program_on_several_devices():
    """JAX shares one module between them, whose const args must be marked once."""
    environment = os.environ | {"XLA_FLAGS": "--xla_force_host_platform_device_count=3"}
    script = script_file("one_program_on_each_device")
    subprocess.run([sys.executable, str(script)], env=environment, check=True)


def test_the_engine_works_in_the_place_of_jax(side, table, monkeypatch):
    monkeypatch.setattr(jax, "jit", functools.partial(engine.jit, constants=side))
    monkeypatch.setattr(jax, "make_jaxpr", functools.partial(engine.make_jaxpr, constants=side))

    @jax.jit
    def add(x):
        return x + table

    assert len(add.lower(1.0).const_args) == (1 if side == "simplified" else 0)
    assert_equal(add(1.0), 1.0 + table)
    assert jax.make_jaxpr(add)(1.0).in_avals[0].shape == ()


def test_the_signature_shows_the_keywords_of_jax_jit():
    ours, stock = inspect.signature(engine.jit), inspect.signature(jax.jit)
    own = {"constants", "constant_policy", "precompute_constants", "deduplicate_constants"}
    assert set(ours.parameters) == {*stock.parameters, *own}


def test_source_locations_of_a_program_are_in_the_code_of_the_user(side, table):
    """No equation has a frame of the engine as its location, nor has the HLO or a profile."""
    inner = engine.jit(lambda x: x + table, constants=side)
    text = engine.jit(lambda x: inner(x) * 2, constants=side).lower(1.0).as_text(debug_info=True)
    assert "test_api.py" in text
    assert "engine/api.py" not in text
    assert "engine/jax_internals/" not in text


def test_make_jaxpr_is_named_as_jax_names_it(table):
    """A callable object has no name, and its text may raise: it is not asked for it."""

    class Odd:
        def __call__(self, x):
            return x + table

        def __repr__(self):
            raise ValueError("no text")

    for fun in (abs, Odd(), functools.partial(Odd())):
        ours, stock = engine.make_jaxpr(fun), jax.make_jaxpr(fun)
        for name in ("__name__", "__qualname__", "__module__", "__doc__"):
            assert getattr(ours, name) == getattr(stock, name)
        ours(1.0)


def test_a_traceback_of_make_jaxpr_has_the_users_frames_alone():
    def fun(x):
        raise ValueError(x)

    with pytest.raises(ValueError, match="Tracer") as raised:
        engine.make_jaxpr(fun)(1.0)
    names = [frame.name for frame in traceback.extract_tb(raised.value.__traceback__)]
    assert names == ["test_a_traceback_of_make_jaxpr_has_the_users_frames_alone", "fun"]
