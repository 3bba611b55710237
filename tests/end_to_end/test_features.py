"""JAX's features, each with a captured array: as `jax.jit` in both modes, nothing inlined in ours.

Each function captures the one array TABLE; the tests hold for every function of the list.
"""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from evidence import inlined_bytes
from jax import lax
from jax.ad_checkpoint import checkpoint_name
from jax.custom_derivatives import SymbolicZero, linear_call
from jax.experimental import checkify, io_callback
from jax.experimental import pallas as pl
from jax.experimental.layout import Layout
from jax.sharding import AxisType, NamedSharding, PartitionSpec, SingleDeviceSharding

import engine

TABLE = jnp.asarray(np.random.default_rng(3).uniform(1, 2, size=(6, 6)).astype(np.float32))
SMALL = TABLE[0]
X = jnp.asarray(np.random.default_rng(4).uniform(-1, 1, size=(6, 6)).astype(np.float32))


def associative_scan(x):
    return lax.associative_scan(lambda a, b: a * TABLE[0] + b, x)


def lax_map(x):
    return lax.map(lambda row: row @ TABLE, x)


def platform_dependent(x):
    return lax.platform_dependent(x, cpu=lambda a: a + TABLE, default=lambda a: a - TABLE)


def switch_in_scan_in_jit(x):
    @jax.jit
    def inner(c, i):
        branches = [lambda a: a + TABLE, lambda a: a * TABLE, lambda a: a]
        return lax.switch(i, branches, c), TABLE[i]

    return lax.scan(inner, x, jnp.arange(3))


def reverse_unrolled_scan(x):
    return lax.scan(
        lambda c, row: (jnp.tanh(c + row * TABLE[1]), c), x[0], x, reverse=True, unroll=2
    )


def hessian(x):
    return jax.hessian(lambda v: jnp.sum(jnp.sin(v @ TABLE)))(x[0])


def jacobians(x):
    fun = lambda v: jnp.tanh(v @ TABLE)  # noqa: E731
    return jax.jacfwd(fun)(x[0]), jax.jacrev(fun)(x[0])


def linearize(x):
    out, linear = jax.linearize(lambda v: jnp.sin(v * TABLE), x)
    return out, linear(TABLE)


def custom_vjp_nondiff(x):
    @functools.partial(jax.custom_vjp, nondiff_argnums=(0,))
    def scaled(n, v):
        return v * TABLE * n

    scaled.defvjp(lambda n, v: (scaled(n, v), v), lambda n, v, ct: (ct * TABLE + n * v,))
    return jax.grad(lambda v: scaled(3.0, v).sum())(x)


def custom_gradient(x):
    @jax.custom_gradient
    def fun(v):
        return v * TABLE, lambda ct: (ct * TABLE * 2,)

    return jax.grad(lambda v: fun(v).sum())(x)


def checkpoint_policy(x):
    policy = jax.checkpoint_policies.save_only_these_names("kept")

    @functools.partial(jax.checkpoint, policy=policy)
    def block(v):
        kept = checkpoint_name(jnp.sin(v @ TABLE), "kept")
        return jnp.sum(jnp.cos(kept @ TABLE))

    return jax.grad(block)(x)


def custom_root(x):
    return lax.custom_root(
        lambda v: v - jnp.cos(x * TABLE),
        x,
        lambda f, v: v - f(v),
        lambda g, y: y / g(jnp.ones_like(y)),
    )


def closure_convert(x):
    def inner(v):
        return v * TABLE * x

    converted, consts = jax.closure_convert(inner, x)
    return converted(x, *consts)


def linear_solve(x):
    return jnp.linalg.solve(TABLE @ TABLE.T + 10 * jnp.eye(6), x)


def vmap_with_axis_name(x):
    return jax.vmap(lambda row: lax.psum(row * TABLE[0], "i") + row, axis_name="i")(x)


def custom_batching(x):
    @jax.custom_batching.custom_vmap
    def fun(v):
        return v * TABLE[0]

    @fun.def_vmap
    def rule(size, batched, v):
        return v * TABLE[0] * 2, True

    return jax.vmap(fun)(x), fun(x[0])


def reduce_with_computation(x):
    return lax.reduce(x, np.float32(0), lambda a, b: a * 0.5 + b, (0,)) + TABLE[0]


def reduce_window(x):
    return lax.reduce_window(x * TABLE, np.float32(0), lax.add, (2, 2), (1, 1), "SAME")


def scatter(x):
    return TABLE.at[jnp.array([0, 2])].add(x[:2]) + x.at[TABLE[0].astype(int)].max(1.0)


def sort(x):
    return lax.sort((x * TABLE, x), num_keys=1)


def composite(x):
    @functools.partial(lax.composite, name="my.composite")
    def scaled(v):
        return v * TABLE

    return scaled(x)


def pallas_interpreted(x):
    def kernel(x_ref, table_ref, out_ref):
        out_ref[...] = x_ref[...] * table_ref[...]

    return pl.pallas_call(
        kernel, out_shape=jax.ShapeDtypeStruct((6, 6), np.float32), interpret=True
    )(x, TABLE)


def pure_callback(x):
    shape = jax.ShapeDtypeStruct((6, 6), np.float32)
    return jax.pure_callback(lambda a, b: np.asarray(a) + np.asarray(b), shape, x, TABLE)


def ordered_effects(x):
    shape = jax.ShapeDtypeStruct((), np.float32)
    first = io_callback(lambda a: np.float32(np.sum(a)), shape, TABLE, ordered=True)
    second = io_callback(lambda a: np.float32(np.max(a)), shape, x, ordered=True)
    return first + second + TABLE


def checked(x):
    def fun(v):
        checkify.check(jnp.all(v < 10), "too large")
        return v * TABLE

    error, out = checkify.checkify(fun)(x)
    return error.get() if isinstance(error, str) else out


def mutable_array(x):
    ref = jax.new_ref(x)
    ref[...] += TABLE
    ref[0] = ref[1] * TABLE[0]
    return ref[...]


def loop_over_a_mutable_array(x):
    ref = jax.new_ref(jnp.zeros_like(x))

    def body(i, _):
        ref[i] += TABLE[i] * x[i]

    lax.fori_loop(0, 6, body, None)
    return ref[...]


def loop_that_makes_a_mutable_array(x):
    """JAX traces the body again while it lowers; arrays below the threshold are Literals there."""

    def body(state):
        ref = jax.new_ref(state[1])
        ref[...] = 0.5 * ref[...] + SMALL * TABLE
        return state[0] + 1, ref[...]

    return lax.while_loop(lambda state: state[0] < 3, body, (0, x))[1]


def random_numbers(x):
    return x + jax.random.normal(jax.random.key(0), (6, 6)) * TABLE


def fft_and_convolution(x):
    return jnp.fft.rfft(x * TABLE).real, jnp.convolve(x[0], TABLE[0])


def low_precision(x):
    return x.astype(jnp.bfloat16) @ TABLE.astype(jnp.bfloat16), (x * 3).astype(jnp.int4)


def named_scope_and_optimization_barrier(x):
    with jax.named_scope("scope"):
        return lax.optimization_barrier((x * TABLE, TABLE))


def shard_map(x):
    mesh = jax.make_mesh((2,), ("i",), axis_types=(AxisType.Auto,))
    spec = PartitionSpec("i")
    return jax.shard_map(lambda v: v @ TABLE, mesh=mesh, in_specs=spec, out_specs=spec)(x)


def sharding_constraint(x):
    mesh = jax.make_mesh((2,), ("i",), axis_types=(AxisType.Auto,))
    sharding = NamedSharding(mesh, PartitionSpec("i"))
    return lax.with_sharding_constraint(x * TABLE, sharding) + TABLE


def host_memory(x):
    on_host, on_device = (
        SingleDeviceSharding(jax.devices()[0], memory_kind=kind)
        for kind in ("pinned_host", "device")
    )
    return jax.device_put(jax.device_put(x * TABLE, on_host), on_device) + TABLE


def layout_constraint(x):
    columns = Layout(major_to_minor=(1, 0))
    return jax.experimental.layout.with_layout_constraint(x * TABLE, columns) + TABLE


def foreign_function(x):
    """LU decomposition by LAPACK, called like a user's own library."""
    types = [((6, 6), np.float32), ((6,), np.int32), ((), np.int32)]
    call = jax.ffi.ffi_call(
        "lapack_sgetrf_ffi",
        [jax.ShapeDtypeStruct(*t) for t in types],
        input_layouts=[(0, 1)],
        output_layouts=[(0, 1), None, None],
        input_output_aliases={0: 0},
    )
    return call(x + TABLE)[:2]


def linear_function(x):
    def scaled(residual, v):
        return v * TABLE * residual

    call = functools.partial(linear_call, scaled, scaled, 2.0)
    return call(x), jax.vjp(call, x)[1](x), jax.jvp(call, (x,), (x,))


def symbolic_zeros(x):
    @jax.custom_vjp
    def forward(a, b):
        return a * TABLE, b * TABLE

    def backward(_, cotangents):
        live, dead = cotangents
        assert isinstance(dead, SymbolicZero)
        return live * TABLE, jnp.zeros_like(live)

    forward.defvjp(lambda a, b: (forward(a.value, b.value), None), backward, symbolic_zeros=True)
    return jax.grad(lambda v: forward(v, 2 * v)[0].sum())(x)


def float0_tangents(x):
    tangents = (x, np.zeros((), jax.dtypes.float0))
    return jax.jvp(lambda v, n: v * TABLE + n, (x, jnp.int32(2)), tangents)[1]


def vmap_with_spmd_axis_name(x):
    mesh = jax.make_mesh((2,), ("i",), axis_types=(AxisType.Auto,))

    def row_times_table(row):
        return lax.with_sharding_constraint(row @ TABLE, NamedSharding(mesh, PartitionSpec(None)))

    return jax.vmap(row_times_table, spmd_axis_name="i")(x)


def collectives(x):
    def fun(row):
        others = lax.all_gather(row, "i") * TABLE
        return lax.ppermute(row, "i", [(k, (k + 1) % 6) for k in range(6)]) + others.sum(0)

    return jax.vmap(fun, axis_name="i")(x)


FEATURES = [
    associative_scan, lax_map, platform_dependent, switch_in_scan_in_jit, reverse_unrolled_scan,
    hessian, jacobians, linearize, custom_vjp_nondiff, custom_gradient, checkpoint_policy,
    custom_root, closure_convert, linear_solve, vmap_with_axis_name, custom_batching,
    reduce_with_computation, reduce_window, scatter, sort, composite, pallas_interpreted,
    pure_callback, ordered_effects, checked, mutable_array, loop_over_a_mutable_array,
    loop_that_makes_a_mutable_array,
    random_numbers, fft_and_convolution, low_precision, named_scope_and_optimization_barrier,
    shard_map, sharding_constraint, host_memory, layout_constraint,
    foreign_function, linear_function, symbolic_zeros, float0_tangents,
    vmap_with_spmd_axis_name, collectives,
]  # fmt: skip


@pytest.fixture(autouse=True, scope="module")
def lapack():
    """Lower a LAPACK function, because JAX registers all of them at the first one."""
    jax.scipy.linalg.lu_factor(X)


@pytest.mark.parametrize("feature", FEATURES, ids=lambda f: f.__name__)
def test_feature(feature, side):
    expected = jax.jit(feature)(X)
    jitted = engine.jit(feature, constants=side)
    lowered = jitted.lower(X)
    for result in (jitted(X), jitted(X), lowered.compile()(X)):
        assert jax.tree.structure(result) == jax.tree.structure(expected)
        for ours, theirs in zip(jax.tree.leaves(result), jax.tree.leaves(expected), strict=True):
            assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
            np.testing.assert_allclose(
                np.asarray(ours, np.float32), np.asarray(theirs, np.float32), rtol=2e-5, atol=1e-5
            )
    if side == "legacy":
        assert lowered.const_args == []
    else:
        assert [c is TABLE for c in lowered.const_args] == [True]
        # Constants that remain arise while JAX lowers; they are smaller than the captured array.
        assert inlined_bytes(lowered.as_text()) < TABLE.nbytes
