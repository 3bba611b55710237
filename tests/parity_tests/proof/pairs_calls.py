"""Callbacks, effects and their order, custom rules, composites, foreign calls, symbolic shapes."""

# ruff: noqa: B006, E402, E731, E741, TID251

import functools
import operator
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import ShapeDtypeStruct as S
from jax import lax
from jax.experimental import xla_metadata
from pairs import With, differ, equal

f32 = jnp.float32
X = S((8, 8), f32)
V = S((8,), f32)
I = S((8, 8), jnp.int32)
s = S((), f32)
i = S((), jnp.int32)
b = S((), bool)


def h1(x):
    return np.sin(x)


def h2(x):
    return np.cos(x)


G1 = 1.0


def mk(c):

    def h(x):
        return x * c

    return h


def mkd(c):

    def h(x, c=c):
        return x * c

    return h


def mkkw(c):

    def h(x, *, c=c):
        return x * c

    return h


class Q:
    def __init__(self, c):
        self.c = c

    def __call__(self, x):
        return x * self.c

    def m(self, x):
        return x * self.c

    def n(self, x):
        return x + self.c

    @staticmethod
    def st(x):
        return x

    @classmethod
    def cl(cls, x):
        return x


class Q2(Q):
    @classmethod
    def cl(cls, x):
        return x


hs = [
    h1,
    h2,
    mk(2.0),
    mk(3.0),
    mkd(2.0),
    mkd(3.0),
    mkkw(2.0),
    mkkw(3.0),
    lambda x: x * 2,
    lambda x: x * 3,
    lambda x: x * np.float32(2),
    partial(lambda x, c: x * c, c=2),
    partial(lambda x, c: x * c, c=3),
    partial(h1),
    partial(operator.mul, 2.0),
    partial(operator.mul, 3.0),
    Q(2.0),
    Q(3.0),
    Q(2.0).m,
    Q(3.0).m,
    Q(2.0).n,
    np.sin,
    np.cos,
    mk([1, 2]),
    mk([1, 3]),
    mk(np.arange(8.0)),
    mk(np.arange(8.0)[::-1]),
    mk("a"),
    mk("b"),
    Q2.cl,
    Q.cl,
    Q.st,
    *[lambda x, k=k: x + k for k in range(3)],
    mk({1: 2}),
    mk({1: 3}),
    mk({1, 2}),
    mk({1, 3}),
    mk(-0.0),
    mk(0.0),
    mk(True),
    mk(1),
    mk(1.0),
    mk(mk(2.0)),
    mk(mk(3.0)),
    mk(jnp.arange(8.0)),
    mk(jnp.ones(8)),
    operator.itemgetter(0),
    operator.itemgetter(1),
    operator.attrgetter("T"),
    operator.methodcaller("sum"),
    operator.methodcaller("max"),
    np.vectorize(h1),
    np.vectorize(h2),
    functools.lru_cache(h1),
    functools.lru_cache(h2),
    mk(slice(1, 2)),
    mk(slice(1, 3)),
    mk(range(3)),
    mk(range(4)),
    mk(None),
    mk(...),
]


def code(src, **g):
    d = dict(g, np=np, __name__="user_module")
    exec(src, d)
    return d["h"]


hs += [
    code("def h(x): return x+c", c=1),
    code("def h(x): return x+c", c=2),
    code("def h(x): return x[0:1]"),
    code("def h(x): return x[0:2]"),
    code("def h(x):\n  def k(y): return y+1\n  return k(x)"),
    code("def h(x):\n  def k(y): return y+2\n  return k(x)"),
    code("def h(x):\n  def k(y,z=1): return y+z\n  return k(x)"),
    code("def h(x):\n  def k(y,z=2): return y+z\n  return k(x)"),
    code("def h(x): return np.sin(x)"),
    code("def h(x): return np.cos(x)"),
    code("def h(x):\n try: return x\n except ValueError: return -x"),
    code("def h(x):\n try: return x\n except KeyError: return -x"),
    code("def h(*x): return x[0]"),
    code("def h(x,y=None): return x"),
    code("def g(x): return x+1\ndef h(x): return g(x)"),
    code("def g(x): return x+2\ndef h(x): return g(x)"),
    code("def g(x): return f(x)\ndef f(x): return x+1\ndef h(x): return g(x)"),
    code("def g(x): return f(x)\ndef f(x): return x+2\ndef h(x): return g(x)"),
    code("class K:\n a=1\ndef h(x): return x+K.a"),
    code("class K:\n a=2\ndef h(x): return x+K.a"),
    code("import types\nm=types.ModuleType('m'); m.a=1\ndef h(x): return x+m.a"),
    code("import types\nm=types.ModuleType('m'); m.a=2\ndef h(x): return x+m.a"),
    code("def h(x): return x*(1 if c else 2)", c=(0,)),
    code("def h(x): return x*(1 if c else 2)", c=()),
    code("def h(x): return x+1.0"),
    code("def h(x): return x+1"),
    code("def h(x): return x+True"),
    code("def h(x): return x+0.0"),
    code("def h(x): return x+(-0.0)"),
    code("def h(x): return x+float('nan')"),
    code("def h(x): return x.real"),
    code("def h(x): return x.imag"),
    code("def h(x): return (lambda: x)()"),
    code("def h(x): return (lambda: -x)()"),
]
differ("pure_callback", (V,), *[lambda x, h=h: jax.pure_callback(h, V, x) for h in hs])
differ(
    "pure_callback-params",
    (V, V),
    *[
        lambda x, y, f=f: f(x, y)
        for f in (
            lambda x, y: jax.pure_callback(h1, V, x),
            lambda x, y: jax.pure_callback(h1, V, y),
            lambda x, y: jax.pure_callback(h1, V, x, vmap_method="sequential"),
            lambda x, y: jax.pure_callback(h1, S((4,), f32), x),
            lambda x, y: jax.pure_callback(h1, S((8,), jnp.int32), x),
            lambda x, y: jax.pure_callback(mk(2.0), (V, V), x),
            lambda x, y: jax.pure_callback(mk(2.0), (V, V, V), x),
            lambda x, y: jax.pure_callback(lambda a, b_: a, V, x, y),
            lambda x, y: jax.pure_callback(lambda a, b_: a, V, y, x),
            lambda x, y: jax.pure_callback(lambda a, b_: b_, V, x, y),
            lambda x, y: jax.pure_callback(lambda a: a[0], V, (x, y)),
            lambda x, y: jax.pure_callback(lambda a: a[0], V, [x, y]),
            lambda x, y: jax.pure_callback(lambda a: a["x"], V, dict(x=x, y=y)),
            lambda x, y: jax.pure_callback(lambda a: a["x"], V, dict(x=y, y=x)),
            lambda x, y: jax.pure_callback(lambda a, z=1: a, V, x),
            lambda x, y: jax.pure_callback(lambda a, z=1: a, V, x, z=y),
            lambda x, y: jax.pure_callback(lambda z, a=1: z, V, x, a=y),
        )
    ],
)
from jax.experimental import io_callback

differ(
    "io_callback",
    (V, V),
    *[
        lambda x, y, f=f: f(x, y)
        for f in (
            lambda x, y: io_callback(h1, V, x),
            lambda x, y: io_callback(h1, V, x, ordered=True),
            lambda x, y: io_callback(h2, V, x),
            lambda x, y: jax.pure_callback(h1, V, x),
            lambda x, y: (io_callback(h1, V, x, ordered=True), io_callback(h2, V, x, ordered=True)),
            lambda x, y: (io_callback(h2, V, x, ordered=True), io_callback(h1, V, x, ordered=True))[
                ::-1
            ],
            lambda x, y: (io_callback(h1, V, x), io_callback(h1, V, x)),
            lambda x, y: (lambda r: (r, r))(io_callback(h1, V, x)),
            lambda x, y: (io_callback(h1, V, x, ordered=True), io_callback(h1, V, x, ordered=True)),
            lambda x, y: (lambda r: (r, r))(io_callback(h1, V, x, ordered=True)),
            lambda x, y: (io_callback(h1, V, x, ordered=True), io_callback(h1, V, y, ordered=True)),
            lambda x, y: (io_callback(h1, V, y, ordered=True), io_callback(h1, V, x, ordered=True))[
                ::-1
            ],
            lambda x, y: (io_callback(h1, V, x), io_callback(h2, V, x)),
            lambda x, y: (io_callback(h1, V, x), x)[1],
            lambda x, y: (io_callback(h1, V, x, ordered=True), x)[1],
            lambda x, y: (io_callback(h2, V, x, ordered=True), x)[1],
            lambda x, y: x,
        )
    ],
)
dbg = jax.debug.print
differ(
    "debug",
    (V, V),
    *[
        lambda x, y, f=f: (f(x, y), x + y)[1]
        for f in (
            lambda x, y: dbg("{}", x),
            lambda x, y: dbg("{} ", x),
            lambda x, y: dbg("{}", y),
            lambda x, y: dbg("{}", x, ordered=True),
            lambda x, y: dbg("a"),
            lambda x, y: dbg("b"),
            lambda x, y: (dbg("{}", x), dbg("{}", y)),
            lambda x, y: (dbg("{}", x, ordered=True), dbg("{}", y, ordered=True)),
            lambda x, y: (dbg("{}", y, ordered=True), dbg("{}", x, ordered=True)),
            lambda x, y: (dbg("{}", x, ordered=True), dbg("{}", x, ordered=True)),
            lambda x, y: (dbg("{}", x), dbg("{}", x)),
            lambda x, y: dbg("{a}{b}", a=x, b=y),
            lambda x, y: dbg("{a}{b}", b=x, a=y),
            lambda x, y: dbg("{b}{a}", a=x, b=y),
            lambda x, y: dbg("{}{}", x, y),
            lambda x, y: dbg("{}{}", y, x),
            lambda x, y: None,
            lambda x, y: jax.debug.callback(h1, x),
            lambda x, y: jax.debug.callback(h2, x),
            lambda x, y: jax.debug.callback(h1, x, ordered=True),
            lambda x, y: jax.debug.callback(mk(2.0), x),
            lambda x, y: jax.debug.callback(mk(3.0), x),
            lambda x, y: dbg("{}{c}", x, c=1),
            lambda x, y: dbg("{}{c}", x, c=2),
            lambda x, y: dbg("{}", x[0]),
            lambda x, y: dbg("{}", 1.0),
            lambda x, y: dbg("{}", 1),
        )
    ],
)
differ(
    "effects-dead-loop",
    (V,),
    *[
        lambda x, f=f: f(x)
        for f in (
            lambda x: x,
            lambda x: (lax.fori_loop(0, 3, lambda k, c: (dbg("{}", c), c * 2)[1], x), x)[1],
            lambda x: (lax.fori_loop(0, 4, lambda k, c: (dbg("{}", c), c * 2)[1], x), x)[1],
            lambda x: (lax.fori_loop(0, 3, lambda k, c: (dbg("{}", c), c * 3)[1], x), x)[1],
            lambda x: (lax.fori_loop(0, 3, lambda k, c: (dbg("{}", x), c * 3)[1], x), x)[1],
            lambda x: (
                lax.scan(
                    lambda c, _: ((dbg("{}", c[0]), (c[0] + c[1], c[1] * 2))[1], None),
                    (x, x),
                    None,
                    length=3,
                ),
                x,
            )[1],
            lambda x: (
                lax.scan(
                    lambda c, _: ((dbg("{}", c[0]), (c[0] + c[1], c[1] * 3))[1], None),
                    (x, x),
                    None,
                    length=3,
                ),
                x,
            )[1],
            lambda x: (lax.cond(x[0] > 0, lambda: (dbg("t"), x)[1], lambda: x), x)[1],
            lambda x: (lax.cond(x[1] > 0, lambda: (dbg("t"), x)[1], lambda: x), x)[1],
            lambda x: (lax.cond(x[0] > 0, lambda: x, lambda: (dbg("t"), x)[1]), x)[1],
        )
    ],
)


@jax.custom_jvp
def cj(x):
    return jnp.sin(x)


cj.defjvp(lambda p, t: (cj(p[0]), t[0]))


@jax.custom_jvp
def cj2(x):
    return jnp.cos(x)


cj2.defjvp(lambda p, t: (cj2(p[0]), t[0]))


@jax.custom_vjp
def cv(x):
    return jnp.sin(x)


cv.defvjp(lambda x: (cv(x), x), lambda r, g: (g * r,))


@jax.custom_vjp
def cv2(x):
    return jnp.sin(x) * 2


cv2.defvjp(lambda x: (cv2(x), x), lambda r, g: (g * r,))


@jax.custom_vjp
def cv3(x):
    return jnp.sin(x)


cv3.defvjp(lambda x: (cv(x), x), lambda r, g: (g * r * 2,))

differ(
    "linear_solve-transpose",
    (X, V),
    *[
        jax.grad(lambda a, v, f=f: f(a, v).sum(), 1)
        for f in (
            lambda a, v: lax.custom_linear_solve(
                lambda x: a @ x,
                v,
                lambda mv, q: jnp.linalg.solve(a, q),
                lambda mv, q: jnp.linalg.solve(a.T, q),
            ),
            lambda a, v: lax.custom_linear_solve(
                lambda x: a @ x,
                v,
                lambda mv, q: jnp.linalg.solve(a, q),
                lambda mv, q: jnp.linalg.solve(a, q) * 2,
            ),
        )
    ],
)


def comp(name="a.b", version=0, f=jnp.sin, **at):
    return lambda x: lax.composite(f, name, version)(x, **at)


differ(
    "composite",
    (V,),
    comp(),
    comp("a.c"),
    comp(version=1),
    comp(f=jnp.cos),
    comp(f=lambda x, k: x * k, k=2.0),
    comp(f=lambda x, k: x * k, k=3.0),
    comp(f=lambda x, j: x * j, j=2.0),
    comp(f=lambda x, k: x, k=np.arange(3)),
    comp(f=lambda x, k: x, k=np.arange(3) + 1),
    comp(f=lambda x, k: x, k="q"),
    comp(f=lambda x, k: x, k="r"),
    comp(f=lambda x, k: x, k=1),
    comp(f=lambda x, k: x, k=True),
    comp(f=lambda x, k: x, k=1.0),
    jnp.sin,
)
if hasattr(xla_metadata, "xla_metadata_call"):  # from 0.11.0 on

    def tagged(f=jnp.sin, **metadata):
        return xla_metadata.xla_metadata_call(f, **metadata)

    differ(
        "xla_metadata_call",
        (V,),
        jnp.sin,
        tagged(a="b"),
        tagged(a="c"),
        tagged(b="b"),
        tagged(jnp.cos, a="b"),
        lambda x: tagged(jnp.sin, a="b")(tagged(jnp.sin, a="b")(x)),
        lambda x: jnp.sin(tagged(jnp.sin, a="b")(x)),
        tagged(lambda x: x * np.arange(8, dtype=f32), a="b"),
        tagged(lambda x: x * np.arange(1, 9, dtype=f32), a="b"),
    )
    equal(
        "xla_metadata_call",
        (V,),
        tagged(lambda x: jnp.sin(x) * np.arange(8, dtype=f32), a="b"),
        lambda x: tagged(lambda x, y: jax.jit(jnp.sin)(x) * y, a="b")(x, np.arange(8, dtype=f32)),
    )
PD = lax.platform_dependent
F = jax.ffi.ffi_call


def ff(name="foo", out=V, vm=None, at={}, **kw):
    return lambda x, y: F(name, out, **kw)(x, y, **at)


differ(
    "ffi",
    (V, V),
    ff(),
    ff("bar"),
    ff(out=S((4,), f32)),
    ff(out=(V, V)),
    ff(has_side_effect=True),
    ff(at=dict(a=np.int32(1))),
    ff(at=dict(a=np.int32(2))),
    ff(at=dict(b=np.int32(1))),
    ff(at=dict(a=np.float32(1))),
    ff(at=dict(a=np.int64(1))),
    ff(at=dict(a="x")),
    ff(at=dict(a="y")),
    ff(at=dict(a=np.arange(3))),
    ff(at=dict(a=np.arange(3) + 1)),
    ff(at=dict(a=np.float32(-0.0))),
    ff(at=dict(a=np.float32(0.0))),
    ff(at=dict(a=True)),
    ff(at=dict(a={"z": np.int32(1)})),
    ff(at=dict(a={"z": np.int32(2)})),
    ff(input_output_aliases={0: 0}),
    ff(input_output_aliases={1: 0}),
    ff(custom_call_api_version=2, legacy_backend_config="a"),
    ff(custom_call_api_version=2, legacy_backend_config="b"),
    ff(custom_call_api_version=1),
    lambda x, y: ff()(y, x),
    lambda x, y: ff()(x, x),
)
M2 = S((4, 8), f32)
differ(
    "ffi-layout",
    (M2,),
    lambda x: F("foo", M2)(x),
    lambda x: F("foo", M2, input_layouts=[(1, 0)])(x),
    lambda x: F("foo", M2, output_layouts=(1, 0))(x),
    lambda x: F("foo", M2, input_layouts=[(1, 0)], output_layouts=(1, 0))(x),
)


def refs(f):

    def g(x, y):
        r = jax.new_ref(x)
        q = jax.new_ref(y)
        f(r, q)
        return (r[...], q[...])

    return g


if hasattr(jax, "new_ref"):

    def st(*ops):
        return refs(lambda r, q: [o(r, q) for o in ops])

    def a1(r, q):
        r[...] = r[...] * 2

    def a2(r, q):
        r[...] = r[...] + q[...]

    def a3(r, q):
        q[...] = r[...]

    def a4(r, q):
        r[...] = q[...]

    def a5(r, q):
        r[0] = 1.0

    def a6(r, q):
        r[1] = 1.0

    def a7(r, q):
        r[0:2] = q[0:2]

    def a8(r, q):
        r[0:2] = q[2:4]

    def a9(r, q):
        r.at[0:4:2][...] = q[0:2]

    differ(
        "refs",
        (V, V),
        st(),
        st(a1),
        st(a2),
        st(a1, a2),
        st(a2, a1),
        st(a3),
        st(a4),
        st(a3, a4),
        st(a4, a3),
        st(a5),
        st(a6),
        st(a7),
        st(a8),
        st(a1, a1),
        st(a5, a6),
        st(a3, a1),
        st(a1, a3),
        lambda x, y: (y, x),
    )
    from jax._src.state.primitives import ref_addupdate, ref_swap

    differ(
        "ref-ops",
        (V, V),
        *[
            refs(f)
            for f in (
                lambda r, q: ref_addupdate(r, (), q[...]),
                lambda r, q: ref_addupdate(q, (), r[...]),
                lambda r, q: ref_swap(r, (), q[...]),
                lambda r, q: ref_addupdate(r, (0,), q[0]),
                lambda r, q: ref_addupdate(r, (1,), q[0]),
                lambda r, q: ref_addupdate(r, (0,), q[1]),
                lambda r, q: ref_addupdate(r, (slice(0, 4),), q[:4]),
                lambda r, q: ref_addupdate(r, (slice(1, 5),), q[:4]),
            )
        ],
    )
    differ(
        "ref-loops",
        (V, V),
        *[
            refs(f)
            for f in (
                lambda r, q: lax.fori_loop(0, 3, lambda k, _: a1(r, q), None),
                lambda r, q: lax.fori_loop(0, 4, lambda k, _: a1(r, q), None),
                lambda r, q: lax.fori_loop(0, 3, lambda k, _: a2(r, q), None),
                lambda r, q: lax.fori_loop(0, 3, lambda k, _: a2(q, r), None),
                lambda r, q: lax.fori_loop(0, 3, lambda k, _: (a1(r, q), a2(r, q), None)[2], None),
                lambda r, q: lax.fori_loop(0, 3, lambda k, _: (a2(r, q), a1(r, q), None)[2], None),
            )
        ],
    )
    differ(
        "ref-reads",
        (V,),
        *[
            f
            for f in (
                lambda x: (lambda r: (r[...], r.__setitem__(..., x * 2), r[...])[::2])(
                    jax.new_ref(x)
                ),
                lambda x: (lambda r: (r.__setitem__(..., x * 2), r[...], r[...])[1:])(
                    jax.new_ref(x)
                ),
                lambda x: (lambda r: (r[...], r[...], r.__setitem__(..., x * 2))[:2])(
                    jax.new_ref(x)
                ),
            )
        ],
    )
    if hasattr(jax, "freeze"):
        differ(
            "ref-alias",
            (V,),
            lambda x: (lambda r, q: (a1(r, q), r[...], q[...])[1:])(jax.new_ref(x), jax.new_ref(x)),
            lambda x: (lambda r, q: (a1(r, q), r[...], q[...])[1:])(*(jax.new_ref(x),) * 2),
            lambda x: (lambda r, q: (a1(q, r), r[...], q[...])[1:])(jax.new_ref(x), jax.new_ref(x)),
        )
    RR = [jax.new_ref(jnp.zeros(8)), jax.new_ref(jnp.zeros(8))]

    def cap(k):

        def f(x):
            RR[k][...] = x
            return x * 1

        return f

    def cap2(k):

        def f(x):
            RR[k][...] = x
            return RR[1][...]

        return f

    differ(
        "captured-refs",
        (V,),
        cap(0),
        lambda x: x * 1,
        lambda x: RR[0][...] + x,
        lambda x: RR[0][...] - x,
    )
    differ("captured-refs-two", (V,), cap2(0), cap2(1))
from jax.experimental import pallas as pl


def pk(k, **kw):
    a = {**dict(out_shape=M2, interpret=True), **kw}
    return lambda x, y: pl.pallas_call(k, **a)(x, y)


def k1(a, c, o):
    o[...] = a[...] + c[...]


def k2(a, c, o):
    o[...] = a[...] - c[...]


def k3(a, c, o):
    o[...] = c[...] - a[...]


BS = pl.BlockSpec


def kg(a, c, o):
    o[...] = a[...] * pl.program_id(0) + c[...]


def kg1(a, c, o):
    o[...] = a[...] * pl.program_id(1) + c[...]


bs = lambda m=lambda i, j: (i, j), sh=(2, 4): BS(sh, m)
gr = dict(grid=(2, 2), in_specs=[bs(), bs()], out_specs=bs())
from jax import export

e1 = export.export(jax.jit(lambda x: jnp.sin(x)))(V)
e2 = export.export(jax.jit(lambda x: jnp.cos(x)))(V)
e3 = export.export(jax.jit(lambda x: jnp.sin(x) * jnp.arange(8.0)), platforms=("cpu", "cuda"))(V)
e4 = export.export(jax.jit(lambda x: jnp.sin(x) * jnp.arange(1.0, 9.0)), platforms=("cpu", "cuda"))(
    V
)


def sym(spec, con=()):
    return export.symbolic_shape(spec, constraints=con)


def SYM(f, *specs, con=()):
    sc = export.SymbolicScope(con)
    return With(f, *[S(export.symbolic_shape(q, scope=sc), f32) for q in specs])


differ(
    "symbolic",
    (),
    SYM(lambda x: x * 2, "a"),
    SYM(lambda x: x * 2, "a, a"),
    SYM(lambda x: x * 2, "a, b"),
    SYM(lambda x: x * 2, "2*a"),
    SYM(lambda x: x * 2, "a+1"),
    SYM(lambda x: x * 2, "2*a, a"),
    SYM(lambda x: x * 2, "a, 2*a"),
    SYM(lambda x: x * x.shape[0], "a"),
    SYM(lambda x: x * (x.shape[0] + 1), "a"),
    SYM(lambda x: x * (x.shape[0] // 2), "a"),
    SYM(lambda x: x * (x.shape[0] % 2), "a"),
    SYM(lambda x: x * x.shape[0], "a, b"),
    SYM(lambda x: x * x.shape[1], "a, b"),
    SYM(lambda x: jnp.arange(x.shape[0]), "a"),
    SYM(lambda x: jnp.sum(x), "a, b"),
    SYM(lambda x: x.reshape(-1), "a, b"),
    SYM(lambda x: x.T, "a, b"),
)
QK = S((1, 4, 2, 8), f32)
