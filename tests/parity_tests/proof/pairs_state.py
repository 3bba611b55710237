"""What a name does not say: own primitives and generators, callbacks, state, and nested loops."""

# ruff: noqa: E402, E731, E741, E742

import functools
import math
import sys
import types
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import ShapeDtypeStruct as S
from jax import lax
from jax.experimental import io_callback
from jax.extend.core import Primitive
from jax.interpreters import mlir
from pairs import With, differ, equal

f32 = jnp.float32
X = S((8, 8), f32)
V = S((8,), f32)
s = S((), f32)
i = S((), jnp.int32)
differ(
    "literal-outs",
    (s,),
    *[lambda x, c=c: (x, c) for c in (1.0, 2.0, -0.0, 0.0, 1, True, np.float32(1), np.int8(1))],
)


def prim(name, fn, ab=None):
    p = Primitive(name)
    p.def_abstract_eval(ab or (lambda x, **k: x))
    mlir.register_lowering(p, mlir.lower_fun(fn, multiple_results=False))
    return p


pa, pb = (prim("mine", lambda x: jnp.sin(x)), prim("mine", lambda x: jnp.cos(x)))
ps = prim("sin", lambda x, **k: jnp.cos(x))
pad_ = prim("neg", lambda x: x)
differ("own-primitives", (V,), lambda x: pa.bind(x), lambda x: pb.bind(x), lambda x: pa.bind(x) + 1)
import jax.extend as jex


def impl(name, tag, k):
    return jex.random.define_prng_impl(
        key_shape=(1,),
        seed=lambda n: jnp.array([k], jnp.uint32) + n.astype(jnp.uint32),
        split=lambda q, shape: jnp.zeros((*shape, 1), jnp.uint32) + q * k,
        random_bits=lambda q, w, shape: jnp.full(shape, 1, jnp.uint32) * q[0] * k,
        fold_in=lambda q, d: q + d * k,
        name=name,
        tag=tag,
    )


if True:
    ia, ib = (impl("mine", "m", 3), impl("mine", "m", 5))
    differ(
        "own-prng",
        (i,),
        *[
            lambda n, im=im: jax.random.key_data(jax.random.split(jax.random.key(n, impl=im)))
            for im in (ia, ib)
        ],
    )
    ka, kb = (jax.random.key(0, impl=ia), jax.random.key(0, impl=ib))
    wa = jax.random.wrap_key_data(np.array([7], np.uint32), impl=ia)
    wb = jax.random.wrap_key_data(np.array([7], np.uint32), impl=ib)
    differ(
        "own-prng-captured",
        (i,),
        *[lambda n, k=k: jax.random.bits(jax.random.fold_in(k, n), (4,)) for k in (wa, wb)],
    )
    differ(
        "own-prng-argument",
        (),
        *[
            With(lambda k: jax.random.bits(k, (4,)), jax.eval_shape(lambda k=k: k))
            for k in (wa, wb)
        ],
    )


def h1(x):
    return np.sin(x)


def code(src, name="um", **g):
    d = dict(g, np=np, __name__=name)
    exec(src, d)
    return d["h"]


def deco(f, c):

    @functools.wraps(f)
    def w(x):
        return f(x) * c

    return w


def noclo(c):
    return functools.wraps(h1)(eval(f"lambda x: x*{c}"))


def attr(k):

    def h(x):
        return x * h.k

    h.k = k
    return h


def rec(k):

    def h(x, n=k):
        return x if n == 0 else h(x, n - 1)

    return h


def glob(k):
    m = types.ModuleType("m")
    exec("def h(x): return x*G", m.__dict__)
    m.G = k
    return m.h


def globin(k):
    m = types.ModuleType(f"regm{k}")
    sys.modules[m.__name__] = m
    exec("def h(x): return x*G", m.__dict__)
    m.G = k
    return m.h


def samemod(k):
    m = types.ModuleType("regm")
    sys.modules["regm"] = m
    exec(f"def h(x): return x*{k}", m.__dict__)
    return m.h


class PS(functools.partial):
    def __call__(self, *a):
        return -super().__call__(*a)


class L(list):
    pass


L1 = L([1])
L1.z = 1
L2 = L([1])
L2.z = 2


class F32(float):
    def __new__(c, v, z):
        o = float.__new__(c, v)
        o.z = z
        return o


class It(int):
    pass


def mk(c):

    def h(x):
        return x * c

    return h


D1 = {"a": 1}
cyc1 = [1]
cyc1.append(cyc1)
cyc2 = [2]
cyc2.append(cyc2)


class O:
    pass


o1 = O()
o1.a = 1
o2 = O()
o2.a = 2
import collections
import dataclasses
import enum


class E(enum.Enum):
    A = 1
    B = 2


@dataclasses.dataclass(frozen=True)
class DC:
    a: int = 1


NT = collections.namedtuple("NT", "a")
NT2 = collections.namedtuple("NT", "b")
cases = [
    h1,
    deco(h1, 2),
    deco(h1, 3),
    noclo(2),
    noclo(3),
    attr(2),
    attr(3),
    rec(2),
    rec(3),
    glob(2),
    glob(3),
    samemod(2),
    samemod(3),
    np.frompyfunc(lambda x: x + 1, 1, 1),
    np.frompyfunc(lambda x: x + 2, 1, 1),
    [1, 2].__getitem__,
    [1, 3].__getitem__,
    {1: 2}.get,
    {1: 3}.get,
    "a".join,
    "b".join,
    math.sin,
    math.cos,
    PS(h1),
    partial(h1),
    PS(mk(2)),
    partial(partial(pow, 2), 3),
    partial(partial(pow, 3), 3),
    mk(L1),
    mk(L2),
    mk(F32(1.0, 1)),
    mk(F32(1.0, 2)),
    mk(It(1)),
    mk(1),
    mk(o1),
    mk(o2),
    mk(E.A),
    mk(E.B),
    mk(DC(1)),
    mk(DC(2)),
    mk(NT(1)),
    mk(NT2(1)),
    mk(np.float32(1)),
    mk(np.float64(1)),
    mk(np.array(1.0, np.float32)),
    mk(jnp.float32(1)),
    mk(np.int32(1)),
    mk(np.int64(1)),
    mk(b"1"),
    mk("1"),
    mk(bytearray(b"1")),
    mk((1,)),
    mk([1]),
    mk({1}),
    mk(frozenset({1})),
    mk({"a": 1, "b": 2}),
    mk({"b": 2, "a": 1}),
    mk(collections.OrderedDict(a=1, b=2)),
    mk(collections.OrderedDict(b=2, a=1)),
    mk(cyc1),
    mk(cyc2),
    mk(np.dtype("float32")),
    mk(np.dtype("int32")),
    mk(float),
    mk(int),
    mk(np.array([1, "a"], dtype=object)),
    mk(np.array([1, "b"], dtype=object)),
    mk(np.array(["a"])),
    mk(np.array(["b"])),
    mk(np.array([1.0, 2.0]).astype(">f4")),
    mk(np.array([1.0, 2.0]).astype("<f4")),
    mk(1 + 0j),
    mk(complex(1, -0.0)),
    mk(float("nan")),
    mk(-float("nan")),
    mk(h1),
    mk(np),
    mk(math),
    mk(math.sin),
    mk(lambda x: x),
    mk(lambda x: -x),
    mk(iter([1])),
    mk(iter([2])),
    mk(jax.random.key(0)),
    mk(jax.random.key(1)),
    mk(np.random.default_rng(0)),
    mk(np.random.default_rng(1)),
    mk(np.ma.masked_array([1, 2], [0, 1])),
    mk(np.ma.masked_array([1, 2], [1, 0])),
    mk(10**30),
    mk(10**30 + 1),
    mk(np.zeros((), [("a", "f4")])),
    mk(np.zeros((), [("b", "f4")])),
    mk(np.timedelta64(3, "s")),
    mk(np.timedelta64(3, "m")),
    mk(np.datetime64(3, "s")),
    mk(jnp.bfloat16(1)),
    mk(np.arange(4, dtype="f4")[::2]),
    mk(np.arange(3, dtype="f4")),
    code("def h(x):\n global z\n z=1\n return x"),
    code("def h(x):\n global z\n z=2\n return x"),
    code("def h(x):\n def k():\n  nonlocal x\n  x=1\n k()\n return x"),
    code("async def h(x): return x"),
    code("def h(x): yield x"),
    code("def h(x): return [x+j for j in (1,2)]"),
    code("def h(x): return [x+j for j in (1,3)]"),
    code("def h(x): return g(x)", g=np.sin),
    code("def h(x): return g(x)", g=np.cos),
    code("def h(x): return np.linalg.norm(x)"),
    code("def h(x): return np.linalg.det(x)"),
    code("def h(x): return getattr(np,'sin')(x)"),
    code("def h(x): return g[0](x)", g=[np.sin]),
    code("def h(x): return g[0](x)", g=[np.cos]),
    code("def h(x): return globals()['g']*x", g=1),
    code("def h(x): return globals()['g']*x", g=2),
    code("def h(x): return eval('g')*x", g=1),
    code("def h(x): return eval('g')*x", g=2),
    code("def h(x): return x if 1<x.sum()<2 else -x"),
    code("def h(x): return x if 1<x.sum()<=2 else -x"),
    code("def h(x): return x @ x"),
    code("def h(x): return x / x"),
    code("def h(x): return x // x"),
    code("def h(x): x += x; return x"),
    code("def h(x): return f'{x!r}'"),
    code("def h(x): return f'{x!s}'"),
    code("def h(x): return f'{x:2}'"),
    code("def h(a,b=1,*,c=2): return a"),
    code("def h(a,b=1,*,c=3): return a"),
    code("def h(a,*,b=2): return b"),
    code("def h(a,*,c=2): return c"),
]
differ("callbacks-more", (V,), *[lambda x, h=h: jax.pure_callback(h, V, x) for h in cases])


def imp():
    return (
        code("def h(x):\n import math\n return math.sin(x)"),
        code("def h(x):\n import math\n return math.cos(x)"),
        code("def h(x):\n import cmath as math\n return math.sin(x)"),
        code("def h(x):\n from math import sin as q\n return q(x)"),
        code("def h(x):\n from math import cos as q\n return q(x)"),
    )


dn = jax.sharding.SingleDeviceSharding(jax.devices()[0])
dn1 = jax.sharding.SingleDeviceSharding(jax.devices()[1])
F = jax.ffi.ffi_call
fe = lambda x, n="foo", **a: F(n, V, has_side_effect=True)(x, **a)
differ(
    "ffi-effects",
    (V,),
    lambda x: (fe(x), fe(x)),
    lambda x: (lambda r: (r, r))(fe(x)),
    lambda x: (fe(x), x)[1],
    lambda x: x,
    lambda x: (fe(x, "bar"), x)[1],
    lambda x: (fe(x), fe(x, "bar"), x)[2],
    lambda x: (fe(x), fe(x), x)[2],
    lambda x: (fe(x + 1), x)[1],
    lambda x: lax.fori_loop(0, 3, lambda k, c: (fe(c), c)[1], x),
    lambda x: lax.fori_loop(0, 4, lambda k, c: (fe(c), c)[1], x),
    lambda x: lax.fori_loop(0, 3, lambda k, c: (fe(c * 2), c)[1], x),
    lambda x: lax.cond(x[0] > 0, lambda: (fe(x), x)[1], lambda: x),
    lambda x: lax.cond(x[0] > 0, lambda: x, lambda: (fe(x), x)[1]),
    lambda x: lax.cond(x[0] > 0, lambda: x, lambda: (fe(x), fe(x), x)[2]),
)
differ(
    "ffi-effects-order",
    (V,),
    lambda x: (fe(x), fe(x, "bar")),
    lambda x: (fe(x, "bar"), fe(x))[::-1],
)
differ(
    "random-state",
    (s, s),
    lambda a, b: (lax.rng_uniform(a, b, (3,)), lax.rng_uniform(a, b, (3,))),
    lambda a, b: (lambda r: (r, r))(lax.rng_uniform(a, b, (3,))),
    lambda a, b: lax.fori_loop(0, 3, lambda k, c: c + lax.rng_uniform(a, b, (3,)), jnp.zeros(3)),
    lambda a, b: (lambda r: lax.fori_loop(0, 3, lambda k, c: c + r, jnp.zeros(3)))(
        lax.rng_uniform(a, b, (3,))
    ),
)
differ(
    "random-state-jit",
    (s, s),
    lambda a, b: (lambda f: f(a, b) - f(a, b))(jax.jit(lambda a, b: lax.rng_uniform(a, b, (3,)))),
    lambda a, b: (lambda r: r - r)(lax.rng_uniform(a, b, (3,))),
)
differ(
    "random-state-scan",
    (s,),
    lambda a: lax.scan(
        lambda c, _: (
            (c[0] + lax.rng_uniform(0.0, 1.0, ()), c[1] + lax.rng_uniform(0.0, 1.0, ())),
            None,
        ),
        (a, a),
        None,
        length=3,
    )[0],
    lambda a: lax.scan(
        lambda c, _: (lambda r: ((c[0] + r, c[1] + r), None))(lax.rng_uniform(0.0, 1.0, ())),
        (a, a),
        None,
        length=3,
    )[0],
)
be = np.arange(1, 5, dtype=">f4")
le = be.view("<f4")


def lit(c):
    return lambda x: (x, lax.optimization_barrier(jnp.asarray(c)))


differ(
    "byte-order",
    (s,),
    *[lit(c) for c in (np.arange(1, 5, dtype="f4"),)],
    lambda x: (x, jnp.asarray(be.astype("f4")[::-1])),
)
differ(
    "equal-starts-types",
    (s,),
    *[
        lambda x, f=f: f(x)
        for f in (
            lambda x: lax.scan(
                lambda c, _: ((c[0] + 1, c[1] + 1), None),
                (jnp.float32(0), jnp.int32(0)),
                None,
                length=3,
            )[0],
            lambda x: lax.scan(
                lambda c, _: ((c[0] + 1, c[1] + 1), None),
                (jnp.int32(0), jnp.float32(0)),
                None,
                length=3,
            )[0],
            lambda x: lax.scan(
                lambda c, _: ((c[0] + 1, c[1] + 1), None),
                (jnp.int32(0), jnp.int32(0)),
                None,
                length=3,
            )[0],
            lambda x: lax.scan(
                lambda c, _: ((c[0] + 1, c[1] + 1), None),
                (jnp.zeros(3), jnp.zeros(4)),
                None,
                length=3,
            )[0],
            lambda x: lax.scan(
                lambda c, _: ((c[0] + 1, c[1] + 1), None),
                (jnp.zeros(3), jnp.zeros(3)),
                None,
                length=3,
            )[0],
            lambda x: lax.scan(
                lambda c, _: ((c[0] + 1, c[1] + 1), None),
                (jnp.zeros((3, 1)), jnp.zeros((1, 3))),
                None,
                length=3,
            )[0],
        )
    ],
)
differ(
    "cross-cond",
    (s, s),
    *[
        lambda x, y, f=f: lax.scan(f, (x, x, y), None, length=4)
        for f in (
            lambda c, _: lax.cond(
                c[2] > 0,
                lambda: ((c[0] + 1, c[1] + 1, c[2]), c[0]),
                lambda: ((c[1] - 1, c[0] - 1, c[2]), c[1]),
            ),
            lambda c, _: lax.cond(
                c[2] > 0,
                lambda: ((c[0] + 1, c[1] + 2, c[2]), c[0]),
                lambda: ((c[1] - 1, c[0] - 1, c[2]), c[1]),
            ),
            lambda c, _: lax.cond(
                c[2] > 0,
                lambda: ((c[0] + 1, c[1] + 1, c[2]), c[0]),
                lambda: ((c[1] - 1, c[0] - 2, c[2]), c[1]),
            ),
            lambda c, _: lax.cond(
                c[2] > 0,
                lambda: ((c[0] + 1, c[1] + 1, c[2]), c[0]),
                lambda: ((c[1] - 1, c[0] - 2, c[2]), c[0]),
            ),
            lambda c, _: lax.cond(
                c[2] > c[1],
                lambda: ((c[0] + 1, c[1] + 2, c[2]), c[0]),
                lambda: ((c[1] - 1, c[0] - 1, c[2]), c[1]),
            ),
            lambda c, _: lax.cond(
                c[2] > c[0],
                lambda: ((c[0] + 1, c[1] + 2, c[2]), c[0]),
                lambda: ((c[1] - 1, c[0] - 1, c[2]), c[1]),
            ),
        )
    ],
)
differ(
    "nested-equal-2",
    (s, s),
    *[
        lambda x, y, st=st: lax.fori_loop(
            0,
            3,
            lambda j, c: lax.fori_loop(
                0, 2, lambda k, d: (d[0] + 1, d[1] * 2, d[2] - 1), (c[st[0]], c[st[1]], c[st[2]])
            ),
            (x, x, y),
        )
        for st in (
            (0, 1, 2),
            (1, 0, 2),
            (0, 0, 2),
            (1, 1, 2),
            (2, 1, 0),
            (0, 2, 1),
            (2, 0, 1),
            (1, 2, 0),
            (2, 2, 2),
            (0, 1, 1),
        )
    ],
)


def d8(k, late, inner):
    f = jax.jit(lambda a, b, c: a * b - c)
    for n in range(7):

        def g(a, b, c, f=f, n=n):
            u = f(a, b, c)
            v = f(u, b, c)
            w = f(b, u, c) if n == inner else f(u, v, c)
            return f(w, v, c) if n != late else f(v, w, c)

        f = jax.jit(g)
    return lambda x, y: f(x, y, jnp.asarray(k))


kk = np.arange(8, dtype="f4")
differ(
    "expand",
    (V, V),
    *[d8(k, l, n) for k in (kk, kk + 1) for l in (None, 0, 6) for n in (None, 0, 6)],
)


def loopy(depth, end, mid=None):
    f = jax.jit(lambda c, k: (c[0] * c[1] + k, c[1] - k))
    for n in range(depth):

        def g(c, k, f=f, n=n):
            d = lax.fori_loop(0, 2, lambda j, d: f(d, k), c)
            d = lax.cond(k > n, lambda d: f(d, k), lambda d: f(d[::-1] if n == mid else d, k), d)
            return f(d, k)

        f = jax.jit(g)
    return lambda a, b: end(f((a, b), jnp.float32(3)))


ind = np.array([[0, 0], [1, 1]])
ind2 = np.array([[0, 1], [1, 1]])


def around_and_inside(body_of):
    """Programs whose body asks the outside world again, and takes this answer or the one before."""

    def asked(x):
        return io_callback(_kept, x, x)

    def program(takes_first):
        def fun(x):
            first = asked(x)

            def inside(c):
                second = asked(x)
                return c + (first if takes_first else second)

            return body_of(inside, x)

        return fun

    return program(True), program(False)


def _kept(x):
    return np.asarray(x)


differ(
    "effects-around-bodies",
    (V,),
    *(
        fun
        for body_of in (
            lambda inside, x: lax.scan(lambda c, _: (inside(c), None), x, length=2)[0],
            lambda inside, x: lax.fori_loop(0, x[0].astype(int), lambda _, c: inside(c), x),
            lambda inside, x: lax.cond(x[0] > 0, inside, lambda c: c, x),
            lambda inside, x: lax.scan(
                lambda c, _: (lax.cond(c[0] > 0, inside, lambda d: d, c), None), x, length=2
            )[0],
            lambda inside, x: lax.cond(
                x[0] > 0,
                lambda c: lax.scan(lambda d, _: (inside(d), None), c, length=2)[0],
                lambda c: c,
                x,
            ),
        )
        for fun in around_and_inside(body_of)
    ),
)


# -- references ------------------------------------------------------------------------------------


def of_two(write, read, other=lambda x: x):
    """Write to one of two references, and read one of them."""

    def fun(x):
        references = jax.new_ref(x), jax.new_ref(other(x))
        references[write][...] = x * 2
        return references[read][...]

    return fun


def of_one(*steps):
    def fun(x):
        reference, found = jax.new_ref(x), []
        for step in steps:
            found.append(step(reference, x))
        return [each for each in found if each is not None]

    return fun


def read(r, x):
    return r[...]


def write(r, x, by=2.0, at=...):
    r[at] = r[at] * by


def through(call, one, two):
    """Pass two references, which may be one, to something that writes to the first."""

    def fun(x):
        a, b = jax.new_ref(x), jax.new_ref(x)

        def both(p, q):
            p[...] += x
            return q[...]

        return call(both, *((a, b)[n] for n in (one, two)))

    return fun


differ("references", (V,), of_two(0, 0), of_two(0, 1), of_two(0, 1, lambda x: x + 1))
differ(
    "references-order",
    (V,),
    of_one(read, write),
    of_one(write, read),
    of_one(read, write, read),
    of_one(write, write, read),
    of_one(write, partial(write, by=3.0), read),
    of_one(partial(write, by=3.0), write, read),
    of_one(partial(write, at=0), read),
    of_one(partial(write, at=1), read),
    of_one(partial(write, at=slice(0, 2)), read),
    of_one(lambda r, x: jax.ref.addupdate(r, ..., x * 2), read),
)
for name, call, references in (
    ("jit", lambda both, p, q: jax.jit(both)(p, q), ((0, 1), (1, 0))),
    (
        "cond",
        lambda both, p, q: lax.cond(p[0] > 0, lambda: both(p, q), lambda: q[...]),
        ((0, 0), (0, 1), (1, 0)),
    ),
    (
        "scan",
        lambda both, p, q: lax.scan(lambda c, _: (c + both(p, q), None), q[...], length=2)[0],
        ((0, 0), (0, 1), (1, 0)),
    ),
    (
        "while",
        lambda both, p, q: lax.while_loop(lambda c: c[0] < 9, lambda c: c + both(p, q), q[...]),
        ((0, 0), (0, 1), (1, 0)),
    ),
):
    differ(f"references-in-{name}", (V,), *[through(call, *each) for each in references])


def root_of(k, by, guess):
    def fun(x):
        f = lambda v: v - by * x * k
        solve = lambda g, v: v - g(v)
        return lax.custom_root(f, x * guess, solve, lambda g, y: y / g(jnp.ones_like(y)))

    return fun


differ(
    "custom_root", (V,), *[root_of(k, *n) for k in (kk, kk + 1) for n in ((1, 1), (2, 1), (1, 2))]
)
equal("reference", (V,), of_one(write, read), jax.jit(of_one(write, read)))
equal(
    "custom_root",
    (V,),
    root_of(kk, 2, 3),
    lambda x: (lambda v: v - (v - 2 * x * jnp.asarray(kk)))(x * 3),
)
