"""Properties that JAX's own tests check: traces, cache misses, dispatch, identity, freeing.

The counters are those of JAX (`jax._src.test_util` reads the same events); each test runs with
`jax.jit` too, so an expectation that is wrong fails there.
"""

import functools
import gc
import weakref

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental.xla_metadata import set_xla_metadata
from jax.extend.core import Primitive
from jax.sharding import AbstractMesh, NamedSharding, PartitionSpec

import engine
from engine.jax_internals import dispatch

TABLE = jnp.arange(8.0)
ON_HOST = np.arange(8, dtype=np.float32)


def misses(monkeypatch):
    """Count the calls that left C++ for Python, of functions of ours and of JAX."""
    seen = []
    record = dispatch._util.test_event
    monkeypatch.setattr(
        dispatch._util,
        "test_event",
        lambda name, *args: (seen.append(name), record(name, *args))[1],
    )
    return lambda: seen.count("jit_cpp_cache_miss")


def test_a_cache_miss_is_counted_where_jax_counts_one(jit, monkeypatch):
    count = misses(monkeypatch)
    jitted = jit(lambda x: x * TABLE)
    jitted(ON_HOST)
    assert count() == 1
    jitted(ON_HOST)
    assert count() == 1


def test_metadata_marks_equations_and_no_inlined_constants(jit):
    with set_xla_metadata(mark="planted"):
        text = jit(lambda x: x * TABLE).lower(ON_HOST).as_text()
    lines = text.splitlines()
    assert all("planted" in line for line in lines if "stablehlo.multiply" in line)
    assert not any("planted" in line for line in lines if "stablehlo.constant" in line)


@pytest.mark.parametrize(
    "transform", [jax.grad, jax.vmap, jax.checkpoint], ids=lambda t: t.__name__
)
def test_derived_programs_are_dispatched_in_cpp_from_the_second_call(jit, monkeypatch, transform):
    """Each derived program leaves C++ once, however often it is called."""
    derived = transform(jit(lambda x: (x * TABLE).sum()))
    x = jnp.ones((3, 8)) if transform is jax.vmap else jnp.ones(8)
    for _ in range(2):
        expected = derived(x)
    count = misses(monkeypatch)
    for _ in range(3):
        np.testing.assert_array_equal(derived(x), expected)
    assert count() == 0


def test_derived_programs_are_freed_with_their_function(jit):
    array = jnp.arange(8.0)
    watch = weakref.ref(array)
    jitted = jit(lambda x, captured=array: (x * captured).sum())
    for _ in range(2):
        jax.grad(jitted)(TABLE)
    del jitted, array
    gc.collect()
    assert watch() is None


def test_functions_are_traced_once_within_a_program_and_outside():
    """In the legacy form, which eager tracing has here, too; as `jax.jit`."""
    for jit in (jax.jit, functools.partial(engine.jit, constants="legacy")):
        traces = []

        def body(carry, x, traces=traces):
            traces.append(x)
            return carry + x, x

        jit(lambda x, body=body: jax.lax.scan(body, 0.0, x))(TABLE)
        jax.lax.scan(body, 0.0, TABLE)
        assert len(traces) == 1

        def fun(x, traces=traces):
            traces.append(x)
            return x

        jax.eval_shape(fun, ON_HOST)
        jit(fun)(ON_HOST)
        assert len(traces) == 2


def test_captured_arrays_are_freed_without_the_garbage_collector(jit):
    gc.disable()
    try:
        array = jnp.ones(10)
        watch = weakref.ref(array)
        fun = (lambda captured: lambda: captured)(array)
        jitted = jit(fun)
        del array
        jitted()
        jitted()
        del fun
        jitted()
        del jitted
        assert watch() is None
    finally:
        gc.enable()


def test_abstract_meshes_can_be_lowered(jit):
    sharding = NamedSharding(AbstractMesh((4, 2), ("x", "y")), PartitionSpec("x"))
    shape = jax.ShapeDtypeStruct((8,), np.float32, sharding=sharding)
    traced = jit(lambda x: x * TABLE).trace(shape)
    lowered = traced.lower(lowering_platforms=("cpu",))
    assert "sdy.sharding" in lowered.as_text()
    compiled = lowered.compile(device_assignment=tuple(jax.devices()))
    mesh = jax.sharding.Mesh(np.reshape(jax.devices(), (4, 2)), ("x", "y"))
    x = jax.device_put(jnp.ones(8), NamedSharding(mesh, PartitionSpec("x")))
    np.testing.assert_array_equal(compiled(x), TABLE)


@pytest.mark.parametrize("side", engine.SIDES)
def test_derivative_rules_are_traced_in_the_form_of_the_program(side):
    """At every point where JAX calls them: when it binds, linearizes, batches or transposes."""
    seen = {}

    def note(name):
        closed_jaxpr = jax.make_jaxpr(lambda y: y * TABLE)(TABLE)
        seen.setdefault(name, set()).add(len(closed_jaxpr.consts))

    @jax.custom_jvp
    def with_jvp(x):
        note("primal")
        return x * TABLE

    @with_jvp.defjvp
    def _(primals, tangents):
        note("jvp rule")
        return with_jvp(*primals), tangents[0] * TABLE

    @jax.custom_vjp
    def with_vjp(x):
        return x * TABLE

    def backward(_, cotangent):
        note("backward rule")
        return (cotangent * TABLE,)

    with_vjp.defvjp(lambda x: (note("forward rule"), (with_vjp(x), None))[1], backward)

    @jax.custom_batching.custom_vmap
    def with_vmap(x):
        return x * TABLE

    @with_vmap.def_vmap
    def _(size, batched, x):
        note("batching rule")
        return x * TABLE, True

    jitted = engine.jit(lambda x: (with_jvp(x) + with_vjp(x)).sum(), constants=side)
    jax.grad(jitted)(TABLE)
    jax.vjp(jitted, TABLE)[1](1.0)
    jax.vmap(engine.jit(with_vmap, constants=side))(jnp.ones((2, 8)))
    expected = {0} if side == "simplified" else {1}
    assert seen == {
        name: expected
        for name in ("primal", "jvp rule", "forward rule", "backward rule", "batching rule")
    }


@pytest.mark.parametrize("side", engine.SIDES)
def test_unchanged_bodies_stay_the_same_objects(side):
    """Equinox keeps a jaxpr as a param and where nobody else sees it, and compares by identity."""

    class Hidden:
        """Static data of a library: no reader of jaxprs looks in here."""

    primitive = Primitive("with_a_body")
    primitive.def_abstract_eval(lambda x, *, jaxpr, hidden: x)

    def fun(x):
        captured = np.arange(20, dtype=np.float32)  # writeable, so the capture is a copy
        hidden = Hidden()
        hidden.jaxpr = jax.make_jaxpr(lambda y: y * captured[:8])(x).jaxpr
        return primitive.bind(x, jaxpr=hidden.jaxpr, hidden=hidden)

    [eqn] = engine.jit(fun, constants=side).trace(TABLE).jaxpr.eqns
    assert eqn.params["jaxpr"] is eqn.params["hidden"].jaxpr
