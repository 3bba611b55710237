"""Values that are repeated along some axes, and primitives whose rules read what is around them."""

import contextlib

import jax
import jax.numpy as jnp
import numpy as np
from hijax_primitives import expanding
from jax import ShapeDtypeStruct as S
from jax import lax
from jax.experimental.xla_metadata import set_xla_metadata
from jax.extend.core import Primitive
from jax.interpreters import mlir
from jax.sharding import AxisType, NamedSharding
from jax.sharding import PartitionSpec as P
from pairs import With, differ, equal

f32 = jnp.float32
V = S((2,), f32)
M = S((2, 2), f32)
s = S((), f32)
i = S((), jnp.int32)
TWO = jnp.asarray(np.float32([3, 5]))


def along(x, axes, shape=(2, 2)):
    """Repeat x; `axes` are those of the result that it has."""
    return lax.broadcast_in_dim(x, shape, axes)


row, column = (lambda x, at=at: along(x, (at,)) for at in (1, 0))
differ(
    "repeated-axes",
    (V, V),
    lambda x, y: row(x) - row(y),
    lambda x, y: row(x) - column(y),
    lambda x, y: column(x) - row(y),
    lambda x, y: column(x) - column(y),
    lambda x, y: row(y) - row(x),
    lambda x, y: row(x - y[::-1]),
    lambda x, y: row(x) - x[:, None] * 0 - row(y),
    lambda x, y: (row(x) - column(y)) - row(y),
    lambda x, y: (row(x) - row(y)) - column(y),
    lambda x, y: along(x, (1,), (1, 2)) - along(y, (1,), (1, 2)),
    lambda x, y: along(x, (0,), (2, 1)) - along(y, (0,), (2, 1)),
)
differ(
    "repeated-three-axes",
    (V, M),
    *[
        lambda x, m, a=a, b=b: along(x, (a,), (2, 2, 2)) - along(m, b, (2, 2, 2))
        for a in (0, 1, 2)
        for b in ((0, 1), (0, 2), (1, 2))
    ],
)
differ(
    "repeated-twice",
    (V,),
    *[
        lambda x, a=a, b=b: jnp.sin(along(along(x, (a,)), b, (2, 2, 2)))
        for a, b in ((0, (0, 1)), (0, (1, 2)), (1, (1, 2)))  # (1, (0, 1)) is (0, (1, 2))
    ],
    lambda x: jnp.sin(along(lax.rev(along(x, (0,)), (0,)), (0, 1), (2, 2, 2))),
    lambda x: along(jnp.sin(along(x, (0,), (2, 1))), (0, 1), (2, 2)),
    lambda x: along(jnp.sin(along(x, (0,), (2, 1))), (0, 1), (2, 1)),
    lambda x: along(jnp.sin(along(x, (0,), (2, 3))), (0, 1), (2, 3)),
)
differ(
    "repeated-moved",
    (V, V),
    lambda x, y: row(x) - row(y),
    lambda x, y: row(x).T - row(y),
    lambda x, y: lax.rev(row(x), (1,)) - row(y),
    lambda x, y: row(x).reshape(4).reshape(2, 2).T.reshape(4).reshape(2, 2) - column(y),
    lambda x, y: lax.reshape(along(x, (0,), (2, 4)), (4, 2)) - along(y, (1,), (4, 2)),
    lambda x, y: lax.reshape(along(x, (1,), (4, 2)), (2, 4)).T - along(y, (1,), (4, 2)),
    lambda x, y: lax.concatenate([row(x), row(y)], 0),
    lambda x, y: lax.concatenate([row(x), row(y)], 1),
    lambda x, y: lax.concatenate([column(x), column(y)], 0),
    lambda x, y: lax.pad(row(x), y[0], ((1, 0, 0), (0, 0, 0))),
    lambda x, y: lax.pad(row(x), y[0], ((0, 1, 0), (0, 0, 0))),
)


def reduced(by, axis, start=0.0):
    return lambda x: lax.reduce(x, np.float32(start), by, (axis,))


differ(
    "repeated-reduced",
    (V,),
    *[
        lambda x, f=f: f(row(x))  # of columns, the other axis is the same
        for f in (
            *[reduced(by, a) for by in (lax.add, lax.mul, lax.sub) for a in (0, 1)],
            reduced(lambda a, b: b - a, 0),
            reduced(lax.add, 0, 1.0),
            reduced(lax.max, 0, 4.0),
            reduced(lax.min, 0, 4.0),
        )
    ],
    *[lambda x, n=n: jnp.sum(along(x, (1,), (n, 2)), 0) for n in (3, 4)],
    *[lambda x, n=n: jnp.sum(along(x, (0,), (2, n)), 1) for n in (5, 6)],
    *[lambda x, n=n: jnp.sum(along(jnp.sum(x), (), (n,))) for n in (2, 3)],
    lambda x: x,
    lambda x: x * 2,
    lambda x: jnp.sum(x),
)
differ(
    "repeated-three-reduced",
    (M,),
    *[
        lambda m, f=f, b=b, axis=axis: f(along(m, b, (2, 2, 2)), axis)
        for f in (jnp.sum, jnp.max)
        for b, axis in (((0, 1), 0), ((0, 1), 1), ((0, 1), 2), ((0, 2), 0))
    ],
    lambda m: jnp.sum(along(m, (0, 1), (2, 2, 3)), 0),
)
differ(
    "repeated-index",
    (V,),
    *[
        lambda x, f=f, w=w, axis=axis: f(w(x), axis=axis)
        for f in (jnp.argmax,)
        for w, axis in ((row, 0), (row, 1))
    ],
    lambda x: along(jnp.argmax(x), (), (2,)) + 1,
    *[
        lambda x, f=f, w=w, axis=axis: f(w(x), axis=axis)
        for f in (lax.cumsum, lax.cummax, lambda v, axis: lax.sort(v, dimension=axis))
        for w, axis in ((row, 0), (row, 1), (column, 0))
    ],
    *[lambda x, k=k: lax.sort((row(x), column(x)), dimension=k)[1] for k in (0, 1)],
    *[lambda x, k=k: lax.sort((column(x), row(x)), dimension=k, num_keys=2)[1] for k in (0, 1)],
    lambda x: row(x) @ row(x),
    lambda x: row(x) @ column(x),
    lambda x: column(x) @ row(x),
    lambda x: column(x) @ column(x),
    lambda x: row(x) @ x,
    lambda x: column(x) @ x,
)
differ(
    "repeated-slices",
    (V, i, i),
    *[
        lambda x, p, q, w=w, at=at, z=z: lax.dynamic_slice(w(x), at(p, q), z)
        for z in ((1, 2), (2, 1))
        for w in (row, column)
        for at in (lambda p, q: (p, q), lambda p, q: (q, p))
    ],
    *[
        lambda x, p, q, w=w, axis=axis: jnp.take(w(x), along(p, (), (2,)) + q, axis=axis)
        for w in (row, column)
        for axis in (0, 1)
    ],
    *[
        lambda x, p, q, w=w: lax.dynamic_update_slice(w(x), along(x, (1,), (1, 2)), (p, q))
        for w in (row, column)
    ],
)
differ(
    "repeated-chosen",
    (V, V, s, i),
    *[
        lambda x, y, t, n, c=c, a=a, b=b: lax.select_n(c(x, t), a(x), b(y))
        for c in (lambda x, t: t > 0, lambda x, t: row(x > 0), lambda x, t: column(x > 0))
        for a in (row, column)
        for b in (row, column)
    ],
    *[lambda x, y, t, n, w=w: lax.clamp(t, w(x), t + 1) for w in (row, column)],
    *[
        lambda x, y, t, n, a=a, b=b: lax.clamp(a(x), b(y), a(x) + t)
        for a in (row, column)
        for b in (row, column)
    ],
    *[
        lambda x, y, t, n, a=a, b=b: lax.cond(n > 0, lambda: a(x), lambda: b(y))
        for a in (row, column)
        for b in (row, column)
    ],
)
differ(
    "repeated-carried",
    (V, V, i),
    *[
        lambda x, y, n, a=a, b=b, by=by: lax.fori_loop(0, n, by, (a(x), b(y)))[0]
        for a in (row, column)
        for b in (row, column)
        for by in (lambda _, c: (c[1] - c[0], c[0]), lambda _, c: (c[0] - c[1], c[1]))
    ],
    *[lambda x, y, n, a=a: lax.scan(lambda c, e: (c - e, c + e), x, a(y)) for a in (row, column)],
    *[
        lambda x, y, n, k=k: lax.scan(lambda c, e: (c - e, c), x, row(y), length=2)[k]
        for k in (0, 1)
    ],
)
differ(
    "repeated-bits",
    (V,),
    *[
        lambda x, w=w, to=to: lax.bitcast_convert_type(w(x), to)
        for w in (row, column)
        for to in (jnp.int32, jnp.uint32, jnp.int16)
    ],
    lambda x: along(lax.bitcast_convert_type(x, jnp.int16), (2, 1), (2, 2, 2)),
    lambda x: along(lax.bitcast_convert_type(x, jnp.int16), (2, 0), (2, 2, 2)),
    *[lambda x, w=w: lax.complex(row(x), w(x)) for w in (row, column)],
    *[lambda x, e=e, w=w: lax.reduce_precision(w(x), *e) for e in ((5, 2), (8, 7)) for w in (row,)],
    *[lambda x, w=w: lax.optimization_barrier(w(x)) - row(x) for w in (row, column)],
    *[lambda x, w=w: w(x).astype(jnp.bfloat16).astype(f32) for w in (row, column)],
    *[lambda x, w=w: w(x.astype(jnp.float16)).astype(f32) for w in (row, column)],
)
COPIES = [np.float32([[1, 2], [1, 2]]), np.float32([[1, 1], [2, 2]]), np.ones((2, 2), f32)]
differ(
    "repeated-constants",
    (V,),
    *[lambda x, c=c, w=w: w(x) - c for c in COPIES for w in (row, column)],
    *[lambda x, c=c, k=k: row(x) - jnp.max(c, axis=k) for c in COPIES[:2] for k in (0, 1)][:2],
    *[lambda x, k=k, w=w: w(x) - lax.broadcasted_iota(f32, (2, 2), k)
      for k in (0, 1) for w in (row, column)],
    lambda x: row(x - lax.iota(f32, 2) * 2),
)  # fmt: skip
differ(
    "repeated-mapped",
    (V, M, s),
    *[
        lambda x, m, t, axes=axes, out=out: jax.vmap(
            lambda a, b, c: jnp.cumsum(a) - b * jnp.sin(c), axes, out
        )(x, m, t)
        for axes in ((None, 0, None), (None, 1, None))
        for out in (0, 1)
    ],
    *[
        lambda x, m, t, f=f, axes=axes: jax.vmap(f, axes)(x, m)
        for f in (lambda a, b: a @ b, lambda a, b: jnp.max(a) - b, lambda a, b: jnp.sort(a)[0] - b)
        for axes in ((None, 0), (None, 1))
    ],
)
for name, of_two in {
    "elementwise": lambda r, c: jnp.sin(c) * r - c,
    "reduced": lambda r, c: r * jnp.sum(jnp.exp(c)) + jnp.max(c),
    "chosen": lambda r, c: jnp.where(c > 0, c, r),
    "nested": lambda r, c: jax.vmap(lambda e: jnp.sin(c) * e)(r),
}.items():
    equal(
        f"repeated-{name}",
        (M,),
        lambda m, f=of_two: jax.vmap(lambda r: f(r, TWO))(m),
        lambda m, f=of_two: jax.vmap(f, (0, None))(m, TWO),
    )


# -- what is around a primitive -------------------------------------------------------------------

X = S((8, 8), f32)
MESH = jax.make_mesh((2, 4), ("x", "y"), axis_types=(AxisType.Auto,) * 2)


def foreign(to):
    """A primitive that is not JAX's; rules read the mesh when they are lowered."""
    primitive = Primitive("around")
    primitive.def_abstract_eval(lambda x: x)
    mlir.register_lowering(primitive, mlir.lower_fun(to, multiple_results=False))
    return primitive.bind


def of_mesh(x, within=3.0):
    return x * (2.0 if jax.sharding.get_abstract_mesh().empty else within)


def of_type(x):
    return x * (3.0 if jax.typeof(x).sharding.mesh.are_all_axes_manual else 2.0)


AROUND = {
    "shard_map": lambda f: jax.shard_map(f, mesh=MESH, in_specs=P("x"), out_specs=P("x")),
    "shard_map-unchecked": lambda f: jax.shard_map(
        f, mesh=MESH, in_specs=P("x"), out_specs=P("x"), check_vma=False
    ),
    "shard_map-scan": lambda f: jax.shard_map(
        lambda x: lax.scan(lambda c, _: (f(c) * 1, None), x, length=2)[0],
        mesh=MESH, in_specs=P("x"), out_specs=P("x"), check_vma=False,
    ),
    "mesh": lambda f: within(lambda: jax.sharding.use_abstract_mesh(MESH.abstract_mesh), f),
}  # fmt: skip


def within(context, f):
    def fun(x):
        with context():
            return f(x)

    return fun


for name, around in AROUND.items():
    for kind, made in (("expanding", expanding), ("foreign", foreign)):
        differ(
            f"{kind}-in-{name}",
            (X,),
            around(made(lambda x: x * 2.0)),
            around(made(of_mesh)),
            around(made(lambda x: of_mesh(x, 4.0))),
        )
    if name != "mesh":
        differ(
            f"expanding-by-type-in-{name}",
            (X,),
            around(expanding(lambda x: x * 2.0)),
            around(expanding(of_type)),
        )
uniform = expanding(lambda x: x + jax.random.uniform(jax.random.key(0), (8, 8)))
differ(
    "expanding-in-contexts",
    (X,),
    uniform,
    within(lambda: jax.threefry_partitionable(False), uniform),
    within(lambda: set_xla_metadata(a="b"), uniform),
    within(lambda: set_xla_metadata(a="c"), uniform),
)
sine = expanding(lambda x: jnp.sin(x) * 2)
for name, context in {
    "nothing": contextlib.nullcontext,
    "metadata": lambda: set_xla_metadata(a="b"),
}.items():
    equal(
        f"expanding-in-{name}",
        (X,),
        within(context, sine),
        within(context, lambda x: jnp.sin(x) * 2),
    )
for name in ("shard_map-unchecked", "shard_map-scan"):
    written = AROUND[name](lambda x: jnp.sin(x) * 2)
    equal(f"expanding-in-{name}", (X,), AROUND[name](sine), written)

# -- unreduced axes --------------------------------------------------------------------------------

EXPLICIT = jax.make_mesh((2, 4), ("x", "y"), axis_types=(AxisType.Explicit,) * 2)


def product(*then, **spec):
    def fun(x):
        made = jnp.dot(x.T, x, out_sharding=P(**spec))
        for each in then:
            made = jax.sharding.reshard(made, each)
        return made

    placed = S((8, 8), f32, sharding=NamedSharding(EXPLICIT, P("x", None)))
    return With(fun, placed, context=lambda: jax.set_mesh(EXPLICIT))


def of_spec(**spec):
    placed = S((8, 8), f32, sharding=NamedSharding(EXPLICIT, P(None, None, **spec)))
    return With(lambda x: x, placed, context=lambda: jax.set_mesh(EXPLICIT))


sums = P(unreduced={"x"})
kinds = getattr(type(getattr(sums, "unreduced_kind", None)), "__members__", {})
differ(
    "unreduced",
    (),
    product(),
    product(unreduced={"x"}),
    product(P(), unreduced={"x"}),
    product(P("x"), unreduced={"x"}),
    product(P("y"), unreduced={"x"}),
    of_spec(),
    of_spec(unreduced={"x"}),
    of_spec(unreduced={"y"}),
    of_spec(reduced={"x"}),
    of_spec(reduced={"y"}),
    *[  # from 0.12 on
        of_spec(unreduced={"x"}, unreduced_kind=kinds[name])
        for name in ("max", "min")
        if name in kinds
    ],
)
