"""Sharding, layouts, meshes, collectives and what else says where something is computed."""

# ruff: noqa: B008, E402, E731

import jax
import jax.numpy as jnp
import numpy as np
from jax import ShapeDtypeStruct as S
from jax import lax
from jax.sharding import AxisType, Mesh, NamedSharding, SingleDeviceSharding
from jax.sharding import PartitionSpec as P
from pairs import With, differ, differ_in_modules, equal

f32 = jnp.float32
X = S((8, 8), f32)
V = S((8,), f32)
dv = np.array(jax.devices())
A2 = jax.make_mesh((2, 4), ("x", "y"), axis_types=(AxisType.Auto,) * 2)
A4 = jax.make_mesh((4, 2), ("x", "y"), axis_types=(AxisType.Auto,) * 2)
AN = jax.make_mesh((2, 4), ("y", "x"), axis_types=(AxisType.Auto,) * 2)
AR = Mesh(dv[::-1].reshape(2, 4), ("x", "y"), axis_types=(AxisType.Auto,) * 2)
A8 = jax.make_mesh((8,), ("x",), axis_types=(AxisType.Auto,))
A8r = Mesh(dv[::-1], ("x",), axis_types=(AxisType.Auto,))
A4h = Mesh(dv[:4], ("x",))
A4t = Mesh(dv[4:], ("x",))
wsc = lax.with_sharding_constraint
N = NamedSharding
differ(
    "constraint",
    (X,),
    *[
        lambda x, m=m, p=p: wsc(x * 2, N(m, p))
        for m, p in (
            (A2, P("x")),
            (A2, P("y")),
            (A2, P("x", "y")),
            (A2, P("y", "x")),
            (A2, P(("x", "y"))),
            (A2, P(("y", "x"))),
            (A2, P()),
            (A2, P(None, "x")),
            (A4, P("x")),
            (AN, P("x")),
            (AR, P("x")),
            (A8, P("x")),
            (A8r, P("x")),
            (A4h, P("x")),
            (A4t, P("x")),
            (A2, P(P.UNCONSTRAINED, "x")),
        )
    ],
    lambda x: x * 2,
    lambda x: wsc(x, N(A2, P("x"))) * 2,
)
differ(
    "device_put",
    (X,),
    *[
        lambda x, t=t: jax.device_put(x * 2, t)
        for t in (
            N(A2, P("x")),
            N(A2, P("y")),
            N(A2, P()),
            N(A2, P("x"), memory_kind="pinned_host"),
            jax.devices()[0],
            jax.devices()[1],
            SingleDeviceSharding(jax.devices()[0], memory_kind="unpinned_host"),
            SingleDeviceSharding(jax.devices()[0], memory_kind="pinned_host"),
            None,
        )
    ],
    lambda x: x * 2,
    lambda x: jax.device_put(x, N(A2, P("x"))) * 2,
    lambda x: jax.device_put(x * 2, jax.memory.Space.Host),
    lambda x: jax.device_put(x * 2, jax.memory.Space.Device),
)
differ_in_modules(
    "in_shardings",
    (X,),
    *[
        jax.jit(lambda x: x * 2, in_shardings=q, out_shardings=o)
        for q, o in (
            (None, None),
            (N(A2, P("x")), None),
            (N(A2, P("y")), None),
            (None, N(A2, P("x"))),
            (None, N(A2, P("y"))),
            (N(A2, P("x")), N(A2, P("y"))),
            (N(AR, P("x")), None),
            (N(A2, P("x"), memory_kind="pinned_host"), None),
            (None, N(A2, P("x"), memory_kind="pinned_host")),
        )
    ],
)
differ_in_modules(
    "argument-shardings",
    (),
    *[
        With(jax.jit(lambda x: x * 2), S((8, 8), f32, sharding=N(m, p)))
        for m, p in ((A2, P("x")), (A2, P("y")), (A2, P()), (A4, P("x")), (AR, P("x")))
    ],
    With(lambda x: x * 2, X),
)


def inner(**kw):
    return lambda x, y: jax.jit(lambda a, b: a * b + a, **kw)(x * 2, y)


differ(
    "inner-jit-shardings",
    (X, X),
    inner(in_shardings=(N(A2, P("x")), None)),
    inner(in_shardings=(N(A2, P("y")), None)),
    inner(in_shardings=(None, N(A2, P("x")))),
    inner(out_shardings=N(A2, P("x"))),
    inner(out_shardings=N(A2, P("y"))),
    inner(),
)
from jax.experimental.layout import Format, Layout

differ_in_modules(
    "layout-io",
    (X,),
    jax.jit(
        lambda x: x * 2, in_shardings=Format(Layout((0, 1)), SingleDeviceSharding(jax.devices()[0]))
    ),
    jax.jit(
        lambda x: x * 2, in_shardings=Format(Layout((1, 0)), SingleDeviceSharding(jax.devices()[0]))
    ),
    jax.jit(
        lambda x: x * 2,
        out_shardings=Format(Layout((1, 0)), SingleDeviceSharding(jax.devices()[0])),
    ),
    jax.jit(
        lambda x: x * 2,
        out_shardings=Format(Layout((0, 1)), SingleDeviceSharding(jax.devices()[0])),
    ),
    jax.jit(lambda x: x * 2, out_shardings=Format(Layout.AUTO)),
)
from jax.experimental.compute_on import compute_on
from jax.experimental.xla_metadata import set_xla_metadata


def con(x):
    with compute_on("device_host"):
        return x * 3


def con2(x):
    with compute_on("tpu_sparsecore"):
        return x * 3


def con3(x):
    with compute_on("device_host"):
        y = x * 3
    return y


def md(x, **kw):
    with set_xla_metadata(**kw):
        return x * 3


differ(
    "metadata",
    (X,),
    lambda x: md(x, a=1) + 1,
    lambda x: md(x, a=2) + 1,
    lambda x: md(x, b=1) + 1,
    lambda x: x * 3 + 1,
    lambda x: set_xla_metadata(x * 3, a=1) + 1,
    lambda x: set_xla_metadata(x * 3, a="1") + 1,
)
differ("metadata-loop", (V,), *[lambda x, k=k: mdl(x, k) for k in (1, 2, None)])


def mdl(x, k):

    def body(c, _):
        if k is None:
            return (c * 2, c)
        with set_xla_metadata(k=k):
            return (c * 2, c)

    return lax.scan(body, x, None, length=3)


def vm(f, **kw):
    return lambda x: jax.vmap(f, axis_name="i", **kw)(x)


differ(
    "vmap-axis",
    (X,),
    vm(lambda r: lax.psum(r, "i")),
    vm(lambda r: lax.pmax(r, "i")),
    vm(lambda r: lax.pmean(r, "i")),
    vm(lambda r: r * lax.axis_index("i")),
    vm(lambda r: lax.ppermute(r, "i", [(k, (k + 1) % 8) for k in range(8)])),
    vm(lambda r: lax.ppermute(r, "i", [(k, (k + 2) % 8) for k in range(8)])),
    vm(lambda r: lax.all_gather(r, "i")),
    vm(lambda r: lax.all_gather(r, "i", axis=1)),
    vm(lambda r: lax.all_to_all(r, "i", 0, 0)),
)
sm = lambda f, i, o, m=A2, **kw: jax.shard_map(f, mesh=m, in_specs=i, out_specs=o, **kw)
px = P("x")
py = P("y")
pxy = P("x", "y")
differ(
    "shard_map",
    (X,),
    *[
        sm(f, i, o, m, **kw)
        for f, i, o, m, kw in (
            (jnp.sin, px, px, A2, {}),
            (jnp.sin, py, py, A2, {}),
            (jnp.sin, pxy, pxy, A2, {}),
            (jnp.sin, P(None, "x"), P(None, "x"), A2, {}),
            (jnp.sin, px, P(None, "x"), A2, {}),
            (jnp.sin, px, px, A4, {}),
            (jnp.sin, px, px, AR, {}),
            (jnp.sin, px, px, AN, {}),
            (jnp.sin, px, px, A8, {}),
            (jnp.sin, px, px, A2, dict(check_vma=False)),
            (jnp.cos, px, px, A2, {}),
            (lambda a: lax.psum(a, "x"), px, P(), A2, {}),
            (lambda a: lax.psum(a, "x"), pxy, P(None, "y"), A2, {}),
            (lambda a: lax.psum(a, "y"), pxy, P("x"), A2, {}),
            (lambda a: lax.psum(a, ("x", "y")), pxy, P(), A2, {}),
            (lambda a: lax.psum(a, ("y", "x")), pxy, P(), A2, {}),
            (lambda a: lax.pmax(a, "x"), px, P(), A2, {}),
            (lambda a: lax.pmin(a, "x"), px, P(), A2, {}),
            (lambda a: a * lax.axis_index("x"), pxy, pxy, A2, {}),
            (lambda a: a * lax.axis_index("y"), pxy, pxy, A2, {}),
            (lambda a: a * lax.axis_index(("x", "y")), pxy, pxy, A2, {}),
            (lambda a: a * lax.axis_index(("y", "x")), pxy, pxy, A2, {}),
            (lambda a: lax.ppermute(a, "x", [(0, 1), (1, 0)]), pxy, pxy, A2, {}),
            (lambda a: lax.ppermute(a, "x", [(0, 1)]), pxy, pxy, A2, {}),
            (lambda a: lax.ppermute(a, "y", [(0, 1), (1, 0)]), pxy, pxy, A2, {}),
            (lambda a: lax.ppermute(a, "y", [(0, 1), (1, 2), (2, 3), (3, 0)]), pxy, pxy, A2, {}),
            (lambda a: lax.ppermute(a, "y", [(0, 3), (1, 0), (2, 1), (3, 2)]), pxy, pxy, A2, {}),
            (lambda a: lax.all_gather(a, "x"), px, P(None, "x"), A2, {}),
            (lambda a: lax.all_gather(a, "x", tiled=True), px, px, A2, {}),
            (lambda a: lax.all_gather(a, "x", axis=1, tiled=True), px, px, A2, {}),
            (lambda a: lax.all_gather(a, "y", axis=1, tiled=True), pxy, pxy, A2, {}),
            (lambda a: lax.all_to_all(a, "x", 1, 0, tiled=True), px, px, A2, {}),
            (lambda a: lax.all_to_all(a, "x", 0, 1, tiled=True), px, px, A2, {}),
            (lambda a: lax.all_to_all(a, "x", 0, 0, tiled=True), px, px, A2, {}),
            (lambda a: lax.psum_scatter(a, "x", tiled=True), px, px, A2, {}),
            (lambda a: lax.psum_scatter(a, "x", scatter_dimension=1, tiled=True), px, px, A2, {}),
            (
                lambda a: lax.psum(a, "x", axis_index_groups=[[0, 1], [2, 3], [4, 5], [6, 7]]),
                px,
                px,
                A8,
                dict(check_vma=False),
            ),
            (
                lambda a: lax.psum(a, "x", axis_index_groups=[[0, 2], [1, 3], [4, 5], [6, 7]]),
                px,
                px,
                A8,
                dict(check_vma=False),
            ),
            (
                lambda a: lax.psum(a, "x", axis_index_groups=[[0, 1, 2, 3], [4, 5, 6, 7]]),
                px,
                px,
                A8,
                dict(check_vma=False),
            ),
            (lambda a: a * 2, px, px, A2, dict(axis_names={"x"})),
        )
    ],
)
differ(
    "shard_map-two",
    (X, X),
    *[
        sm(f, i, o, A2)
        for f, i, o in (
            (lambda a, b: a @ b, (px, P()), px),
            (lambda a, b: lax.psum(a @ b, "x"), (P(None, "x"), P("x")), P()),
            (lambda a, b: lax.psum(a @ b, "y"), (P(None, "y"), P("y")), P()),
            (lambda a, b: (a, b), (px, py), (px, py)),
            (lambda a, b: (b, a), (px, py), (py, px)),
            (lambda a, b: (a * 2, b), (px, py), (px, py)),
            (lambda a, b: (a, b * 2), (px, py), (px, py)),
        )
    ],
)
ca = np.arange(64, dtype=np.float32).reshape(8, 8)
cb = ca.T.copy()
differ(
    "shard_map-captured",
    (X,),
    *[sm(lambda a, c=c: a * jnp.asarray(c)[:4], px, px) for c in (ca, cb)],
    *[lambda x, c=c: sm(lambda a, b: a * b, (px, px), px)(x, jnp.asarray(c)) for c in (ca, cb)],
    *[lambda x, c=c: sm(lambda a, b: a * b, (px, py), px)(x, jnp.asarray(c)) for c in ()],
)
c0 = jnp.arange(8.0)


def typed(f, i=px, o=px, m=A2, **kw):
    """Compute with a captured array in a shard_map, which types it by its mesh or by none."""
    return sm(lambda a: f(a, jnp.sin(c0)), i, o, m, **kw)


whole = lambda a, c: lax.broadcast_in_dim(c, (4, 8), (1,)) + a
differ(
    "shard_map-typed",
    (X,),
    typed(whole),
    typed(whole, m=AR),
    typed(whole, check_vma=False),
    typed(whole, axis_names={"x"}),
    typed(lambda a, c: lax.broadcast_in_dim(c, (2, 8), (1,)) + a, m=A4),
    typed(lambda a, c: whole(a, c[::-1])),
    typed(lambda a, c: whole(a, lax.psum(lax.pcast(c, "x", to="varying"), "x"))),
    typed(lambda a, c: whole(a, lax.psum(lax.pcast(c, "y", to="varying"), "y"))),
    typed(lambda a, c: whole(a, lax.psum(lax.pcast(c, ("x", "y"), to="varying"), ("x", "y")))),
    typed(lambda a, c: whole(a, c * lax.axis_index("x"))),
    typed(lambda a, c: whole(a, lax.dynamic_index_in_dim(c, lax.axis_index("x")))),
    typed(lambda a, c: lax.psum(whole(a, c), "x"), o=P()),
    typed(lambda a, c: lax.pmax(whole(a, c), "x"), o=P()),
    lambda x: jax.vmap(lambda r: r + jnp.sin(c0))(x),
)
equal(
    "shard_map-typed",
    (X,),
    sm(lambda a: jax.vmap(lambda r: r * c0)(a), P(), P()),
    lambda x: sm(lambda a, c: jax.vmap(lambda r: r * c)(a), (P(), P()), P())(x, c0),
)
found_in = lambda a, c, **kw: jnp.searchsorted(c, a[0], **kw)
differ(
    "shard_map-searchsorted",
    (X,),
    typed(found_in, o=P("x")),
    typed(lambda a, c: found_in(a, c, side="right"), o=P("x")),
    typed(lambda a, c: found_in(a, c[::-1]), o=P("x")),
    typed(lambda a, c: found_in(a[1:], c), o=P("x")),
    typed(lambda a, c: found_in(a, c) + lax.axis_index("x"), o=P("x")),
    typed(lambda a, c: found_in(lax.psum(a, "x"), c), o=P()),
)
equal(
    "shard_map-searchsorted",
    (X,),
    sm(lambda a: found_in(a, c0), px, P("x")),
    lambda x: sm(found_in, (px, P()), P("x"))(x, c0),
)
E2 = jax.make_mesh((2, 4), ("x", "y"), axis_types=(AxisType.Explicit,) * 2)
E4 = jax.make_mesh((4, 2), ("x", "y"), axis_types=(AxisType.Explicit,) * 2)


def ex(f, p=P("x", "y"), m=E2):
    return With(f, S((8, 8), f32, sharding=N(m, p)), context=lambda m=m: jax.set_mesh(m))


differ(
    "explicit",
    (),
    ex(lambda x: x * 2),
    ex(lambda x: x * 2, P("x")),
    ex(lambda x: x * 2, P("y")),
    ex(lambda x: x * 2, P("y", "x")),
    ex(lambda x: x * 2, m=E4),
    ex(lambda x: jax.sharding.reshard(x, P("x"))),
    ex(lambda x: jax.sharding.reshard(x, P("y"))),
    ex(lambda x: jax.sharding.reshard(x, P())),
    ex(lambda x: x.T),
    ex(lambda x: jnp.sum(x, 0)),
    ex(lambda x: jnp.dot(x, x.T, out_sharding=P("x"))),
    ex(lambda x: jnp.dot(x, x.T, out_sharding=P("y"))),
    ex(lambda x: jnp.dot(x, x.T, out_sharding=P())),
    ex(lambda x: lax.reshape(x, (64,), out_sharding=P("x"))),
    ex(lambda x: lax.reshape(x, (64,), out_sharding=P("y"))),
    ex(lambda x: lax.broadcasted_iota(jnp.int32, (8, 8), 0, out_sharding=P("x"))),
    ex(lambda x: lax.broadcasted_iota(jnp.int32, (8, 8), 0, out_sharding=P("y"))),
    ex(lambda x: jnp.zeros((8, 8), out_sharding=P("x"))),
    ex(lambda x: jnp.zeros((8, 8), out_sharding=P("y"))),
    ex(lambda x: jnp.zeros((8, 8))),
    ex(lambda x: x.at[jnp.arange(8)].get(out_sharding=P("x")) if hasattr(x.at[0], "get") else x),
    ex(lambda x: jnp.einsum("ij,kj->ik", x, x, out_sharding=P("y"))),
    ex(lambda x: jax.random.uniform(jax.random.key(0), (8, 8), out_sharding=P("x"))),
    ex(lambda x: jax.random.uniform(jax.random.key(0), (8, 8), out_sharding=P("y"))),
)
ab = jax.sharding.AbstractMesh
differ_in_modules(
    "lowering-platforms",
    (X,),
    *[
        With(
            lambda x: lax.platform_dependent(x, cpu=jnp.sin, cuda=jnp.cos, default=jnp.tan),
            X,
            platforms=p,
        )
        for p in (("cpu",), ("cuda",), ("tpu",), ("cpu", "cuda"), ("cpu", "cuda", "tpu"))
    ],
)
differ(
    "contexts",
    (X,),
    *[
        With(lambda x: x @ x, X, context=c)
        for c in (
            lambda: jax.default_matmul_precision("default"),
            lambda: jax.default_matmul_precision("float32"),
            lambda: jax.default_matmul_precision("BF16_BF16_F32_X3"),
            lambda: jax.enable_x64(True),
        )
    ],
)
differ(
    "context-x64",
    (X,),
    With(lambda x: x * 2 + jnp.arange(8), X),
    With(lambda x: x * 2 + jnp.arange(8), X, context=lambda: jax.enable_x64(True)),
)
differ(
    "context-bits",
    (),
    *[
        With(lambda n: jax.random.uniform(jax.random.key(n), (4,)), S((), jnp.int32), context=c)
        for c in (
            lambda: jax.threefry_partitionable(True),
            lambda: jax.threefry_partitionable(False),
            lambda: jax.default_prng_impl("rbg"),
            lambda: jax.default_prng_impl("unsafe_rbg"),
        )
    ],
)
