"""Loops, branches, repeated values, and calls in calls."""

# ruff: noqa: B023, E731, E741

import jax
import jax.numpy as jnp
import numpy as np
from jax import ShapeDtypeStruct as S
from jax import lax
from pairs import differ

f32 = jnp.float32
X = S((4, 4), f32)
V = S((4,), f32)
I = S((4, 4), jnp.int32)
s = S((), f32)
i = S((), jnp.int32)
b = S((), bool)
XS = S((5,), f32)


def scan(body, init=lambda x: x, out=lambda r: r, **kw):
    return lambda c, xs: out(lax.scan(body, init(c), xs, **kw))


bo = lambda c, x: (c * 2 + x, c)
differ(
    "scan",
    (s, XS),
    scan(bo),
    scan(bo, reverse=True),
    scan(lambda c, x: (c * 2 + x, x)),
    scan(lambda c, x: (c * 2 - x, c)),
    scan(lambda c, x: (c * 2 + x, c * 2 + x)),
    scan(bo, out=lambda r: r[0]),
    scan(bo, out=lambda r: r[1]),
    scan(lambda c, x: (c * x + 2, c)),
    lambda c, xs: lax.scan(bo, c, xs[:4]),
    lambda c, xs: lax.scan(bo, c, xs[::-1]),
    lambda c, xs: lax.scan(bo, c + 1, xs),
    lambda c, xs: lax.scan(bo, c, xs + 1),
    lambda c, xs: lax.scan(lambda c, _: (c * 2, c), c, None, length=5),
    lambda c, xs: lax.scan(lambda c, _: (c * 2, c), c, None, length=6),
    lambda c, xs: lax.scan(lambda c, _: (c * 2, c), c, None, length=5)[0],
    lambda c, xs: lax.scan(lambda c, _: (c * 2, c), c, None, length=6)[0],
    scan(bo, out=lambda r: (r[1], r[0])),
)
differ("scan-unroll", (s, XS), scan(bo), scan(bo, unroll=2), scan(bo, unroll=3), scan(bo, unroll=5))
b2 = lambda c, x: ((c[0] + c[1], c[0] * x), c[1])
differ(
    "scan-two",
    (s, s, XS),
    *[
        lambda a, c, xs, f=f: f(a, c, xs)
        for f in (
            lambda a, c, xs: lax.scan(b2, (a, c), xs),
            lambda a, c, xs: lax.scan(b2, (c, a), xs),
            lambda a, c, xs: lax.scan(b2, (a, a), xs),
            lambda a, c, xs: lax.scan(lambda c, x: ((c[0] * x, c[0] + c[1]), c[1]), (a, c), xs),
            lambda a, c, xs: lax.scan(lambda c, x: ((c[1], c[0]), c[1]), (a, c), xs),
            lambda a, c, xs: lax.scan(lambda c, x: ((c[0], c[1]), c[1]), (a, c), xs),
            lambda a, c, xs: lax.scan(lambda c, x: ((c[0], c[1]), c[0]), (a, c), xs),
            lambda a, c, xs: lax.scan(lambda c, x: ((c[1], c[0]), c[0]), (a, c), xs),
            lambda a, c, xs: lax.scan(lambda c, x: ((c[0], c[0]), c[0]), (a, c), xs),
            lambda a, c, xs: lax.scan(lambda c, x: ((c[0], c[0]), c[1]), (a, c), xs),
        )
    ],
)
differ(
    "scan-equal-starts",
    (s, XS),
    lambda a, xs: lax.scan(lambda c, x: ((c[0] + 1, c[1] + 2), c[0] - c[1]), (a, a), xs),
    lambda a, xs: lax.scan(lambda c, x: ((c[0] + 2, c[1] + 1), c[0] - c[1]), (a, a), xs),
    lambda a, xs: lax.scan(lambda c, x: ((c[0] + 1, c[1] + 1), c[0] - c[1]), (a, a), xs),
    lambda a, xs: lax.scan(lambda c, x: ((c[1] + 1, c[0] + 2), c[0] - c[1]), (a, a), xs),
    lambda a, xs: lax.scan(lambda c, x: ((c[1] + 2, c[0] + 1), c[0] - c[1]), (a, a), xs),
)
differ(
    "scan-three-starts",
    (s, XS),
    *[
        lambda a, xs, p=p: lax.scan(
            lambda c, x: ((c[p[0]] + 1, c[p[1]] + 2, c[p[2]] + x), c[0] - c[1] * c[2]),
            (a, a, a),
            xs,
        )
        for p in (
            (0, 1, 2),
            (0, 2, 1),
            (1, 0, 2),
            (1, 2, 0),
            (2, 0, 1),
            (2, 1, 0),
            (0, 0, 0),
            (1, 1, 1),
            (2, 2, 2),
            (0, 0, 1),
            (1, 1, 0),
        )
    ],
)
differ(
    "scan-xs",
    (s, XS, XS),
    *[
        lambda a, x, y, f=f: f(a, x, y)
        for f in (
            lambda a, x, y: lax.scan(lambda c, z: (c * z[0] + z[1], z), a, (x, y)),
            lambda a, x, y: lax.scan(lambda c, z: (c * z[0] + z[1], z), a, (y, x)),
            lambda a, x, y: lax.scan(lambda c, z: (c * z[1] + z[0], z), a, (x, y)),
            lambda a, x, y: lax.scan(lambda c, z: (c * z[0] + z[1], z[::-1]), a, (x, y)),
            lambda a, x, y: lax.scan(lambda c, z: (c * z[0] + z[1], z), a, (x, x)),
        )
    ],
)
differ(
    "scan-const-or-x",
    (XS, S((5, 5), f32)),
    lambda x, y: lax.scan(lambda c, z: (c + z, c @ z), x, y),
    lambda x, y: lax.scan(lambda c, z: (c + y[0], c @ z), x, y),
    lambda x, y: lax.scan(lambda c, z: (c + x, c @ z), x, y),
    lambda x, y: lax.scan(lambda c, z: (c + y[1], c @ z), x, y),
    lambda x, y: lax.scan(lambda c, z: (c + z, c @ z), x, y.T),
)
CA = np.arange(40, dtype=np.float32)
CB = CA + 1
differ(
    "scan-captured",
    (s, S((40,), f32)),
    *[
        lambda a, xs, p=p, q=q: lax.scan(lambda c, x: (c * p[0] + x, c + q.sum()), a, xs)
        for p, q in ((jnp.asarray(CA), jnp.asarray(CB)), (jnp.asarray(CB), jnp.asarray(CA)))
    ],
    lambda a, xs: lax.scan(lambda c, x: (c + x, c), a, jnp.asarray(CA)),
    lambda a, xs: lax.scan(lambda c, x: (c + x, c), a, jnp.asarray(CB)),
)
differ(
    "dead-carry",
    (s, s, XS),
    lambda a, c, xs: lax.scan(lambda c, x: ((c[0] + x, c[1] * 2), x), (a, c), xs)[0][0],
    lambda a, c, xs: lax.scan(lambda c, x: ((c[0] + c[1], c[1] * 2), x), (a, c), xs)[0][0],
    lambda a, c, xs: lax.scan(lambda c, x: ((c[0] + c[1], c[1] * 3), x), (a, c), xs)[0][0],
    lambda a, c, xs: lax.scan(lambda c, x: ((c[0] + c[1], c[1] * 2), x), (a, a), xs)[0][0],
)
differ(
    "dead-carry-chain",
    (s, s, s, XS),
    *[
        lambda a, c, d, xs, f=f: lax.scan(f, (a, c, d), xs)[0][0]
        for f in (
            lambda c, x: ((c[0] + c[1], c[1] + c[2], c[2] * 2), None),
            lambda c, x: ((c[0] + c[1], c[1] + c[2], c[2] * 3), None),
            lambda c, x: ((c[0] + c[1], c[1] + c[2], c[0]), None),
            lambda c, x: ((c[0] + c[1], c[1] + c[2], c[1]), None),
            lambda c, x: ((c[0] + c[1], c[1] + c[2], x), None),
            lambda c, x: ((c[0] + c[1], c[1] + c[2], c[2]), None),
            lambda c, x: ((c[0] + c[2], c[2], c[1]), None),
            lambda c, x: ((c[0] + c[1], c[2], c[1]), None),
            lambda c, x: ((c[0] + c[1], c[1], c[2]), None),
        )
    ],
)
differ(
    "constant-carry",
    (s, s, XS),
    lambda a, c, xs: lax.scan(lambda c, x: ((c[0] + x * c[1], c[1]), None), (a, c), xs),
    lambda a, c, xs: lax.scan(lambda c, x: ((c[0] + x * c[1], c[1] + 0), None), (a, c), xs),
    lambda a, c, xs: lax.scan(lambda c, x: ((c[0] + x * c[1], c[1] * 1.0), None), (a, c), xs),
    lambda a, c, xs: lax.scan(lambda c, x: ((c[0] + x * c[1], a), None), (a, c), xs),
    lambda a, c, xs: lax.scan(lambda c, x: ((c[0] + x * c[1], c[0]), None), (a, c), xs),
    lambda a, c, xs: lax.scan(lambda c, x: ((c[0] + x * c[1], x), None), (a, c), xs),
)
differ(
    "ys-stack",
    (s, XS),
    *[
        lambda a, xs, f=f: lax.scan(f, a, xs)[1]
        for f in (
            lambda c, x: (c, x),
            lambda c, x: (c, c),
            lambda c, x: (x, c),
            lambda c, x: (x, x + c),
            lambda c, x: (x + c, x + c),
            lambda c, x: (c, x * 1.5),
            lambda c, x: (c, 1.5),
            lambda c, x: (c, 2.5),
        )
    ],
    lambda a, xs: jnp.full((5,), a),
    lambda a, xs: xs[::-1],
)
W = lambda cond, body, init: lax.while_loop(cond, body, init)
differ(
    "while",
    (s, i),
    *[
        lambda a, n, f=f: f(a, n)
        for f in (
            lambda a, n: W(lambda c: c < 5, lambda c: c + 1, a),
            lambda a, n: W(lambda c: c < 6, lambda c: c + 1, a),
            lambda a, n: W(lambda c: c <= 5, lambda c: c + 1, a),
            lambda a, n: W(lambda c: c > 5, lambda c: c + 1, a),
            lambda a, n: W(lambda c: c < 5, lambda c: c + 2, a),
            lambda a, n: W(lambda c: c < 5, lambda c: c * 2, a),
            lambda a, n: W(lambda c: c < n, lambda c: c + 1, a),
            lambda a, n: W(lambda c: c < 5, lambda c: c + n, a),
            lambda a, n: W(lambda c: c < a, lambda c: c + 1, a),
            lambda a, n: W(lambda c: c < 5, lambda c: c + 1, a + 1),
            lambda a, n: W(lambda c: c < 5, lambda c: c + 1, jnp.float32(0)),
            lambda a, n: W(lambda c: c < 5, lambda c: c + 1, jnp.float32(1)),
            lambda a, n: W(lambda c: True, lambda c: c + 1, a),
            lambda a, n: W(lambda c: False, lambda c: c + 1, a),
        )
    ],
)
differ(
    "while-two",
    (s, s),
    *[
        lambda a, n, f=f: f(a, n)
        for f in (
            lambda a, n: W(lambda c: c[0] < 5, lambda c: (c[0] + 1, c[1] * 2), (a, n)),
            lambda a, n: W(lambda c: c[1] < 5, lambda c: (c[0] + 1, c[1] * 2), (a, n)),
            lambda a, n: W(lambda c: c[0] < 5, lambda c: (c[1] + 1, c[0] * 2), (a, n)),
            lambda a, n: W(lambda c: c[0] < 5, lambda c: (c[0] + 1, c[1] * 2), (n, a)),
            lambda a, n: W(lambda c: c[0] < 5, lambda c: (c[0] + 1, c[1] * 2), (a, a)),
            lambda a, n: W(lambda c: c[0] < 5, lambda c: (c[0] + 1, c[1] * 2), (a, n))[::-1],
            lambda a, n: W(lambda c: c[0] < 5, lambda c: (c[0] + 1, c[1] * 2), (a, n))[0],
            lambda a, n: W(lambda c: c[0] < 5, lambda c: (c[0] + 1, c[1] * 2), (a, n))[1],
            lambda a, n: W(lambda c: c[0] < c[1], lambda c: (c[0] + 1, c[1] * 2), (a, n)),
            lambda a, n: W(lambda c: c[1] < c[0], lambda c: (c[0] + 1, c[1] * 2), (a, n)),
            lambda a, n: W(lambda c: c[0] < 5, lambda c: (c[0] + 1, c[1]), (a, n)),
            lambda a, n: W(lambda c: c[0] < n, lambda c: (c[0] + 1, c[1] * 2), (a, n)),
        )
    ],
)
differ(
    "while-consts",
    (s, s, s),
    *[
        lambda a, p, q, f=f: f(a, p, q)
        for f in (
            lambda a, p, q: W(lambda c: c < p, lambda c: c + q, a),
            lambda a, p, q: W(lambda c: c < q, lambda c: c + p, a),
            lambda a, p, q: W(lambda c: c < q, lambda c: c + q, a),
            lambda a, p, q: W(lambda c: c < p, lambda c: c + p, a),
            lambda a, p, q: W(lambda c: c < p * q, lambda c: c + p - q, a),
            lambda a, p, q: W(lambda c: c < p * q, lambda c: c + q - p, a),
        )
    ],
)
differ(
    "fori",
    (s, i),
    *[
        lambda a, n, f=f: f(a, n)
        for f in (
            lambda a, n: lax.fori_loop(0, 5, lambda k, c: c * 2, a),
            lambda a, n: lax.fori_loop(0, 6, lambda k, c: c * 2, a),
            lambda a, n: lax.fori_loop(0, 5, lambda k, c: c * k, a),
            lambda a, n: lax.fori_loop(1, 6, lambda k, c: c * k, a),
            lambda a, n: lax.fori_loop(0, n, lambda k, c: c * k, a),
            lambda a, n: lax.fori_loop(1, n, lambda k, c: c * k, a),
            lambda a, n: lax.fori_loop(n, 5, lambda k, c: c * k, a),
            lambda a, n: lax.fori_loop(n, 6, lambda k, c: c * k, a),
            lambda a, n: lax.fori_loop(0, 5, lambda k, c: c * n, a),
            lambda a, n: lax.fori_loop(0, n, lambda k, c: c * n, a),
        )
    ],
)


def nest(p, q, r, o):

    def f(a, xs):

        def outer(c, x):
            d, _ = lax.scan(
                lambda e, y: ((e[0] + p * y, e[1] + q * x), e[0] - e[1]),
                (c, c) if r else (c, x),
                xs,
            )
            return (d[o], d[1 - o])

        return lax.scan(outer, a, xs)

    return f


differ(
    "nested-scan",
    (s, XS),
    *[
        nest(p, q, r, o)
        for p, q in ((1.0, 1.0), (1.0, 2.0), (2.0, 1.0))
        for r in (0, 1)
        for o in (0, 1)
    ],
)
differ(
    "nested-swapped",
    (s, XS),
    lambda a, xs: lax.scan(lambda c, x: lax.scan(lambda d, y: (d + y, d * x), c, xs), a, xs),
    lambda a, xs: lax.scan(lambda c, x: lax.scan(lambda d, y: (d + x, d * y), c, xs), a, xs),
    lambda a, xs: lax.scan(lambda c, x: lax.scan(lambda d, y: (d + y, d * c), c, xs), a, xs),
    lambda a, xs: lax.scan(lambda c, x: lax.scan(lambda d, y: (d + c, d * y), c, xs), a, xs),
    lambda a, xs: lax.scan(lambda c, x: lax.scan(lambda d, y: (d + a, d * y), c, xs), a, xs),
    lambda a, xs: lax.scan(lambda c, x: lax.scan(lambda d, y: (d + y, d * x), a, xs), a, xs),
)
differ(
    "while-in-while",
    (s, s),
    *[
        lambda a, n, f=f: f(a, n)
        for f in (
            lambda a, n: W(
                lambda c: c < 9, lambda c: W(lambda d: d < c, lambda d: d + 1, n) + 1, a
            ),
            lambda a, n: W(
                lambda c: c < 9, lambda c: W(lambda d: c < d, lambda d: d + 1, n) + 1, a
            ),
            lambda a, n: W(
                lambda c: c < 9, lambda c: W(lambda d: d < a, lambda d: d + 1, n) + 1, a
            ),
            lambda a, n: W(
                lambda c: c < 9, lambda c: W(lambda d: d < n, lambda d: d + 1, n) + 1, a
            ),
            lambda a, n: W(
                lambda c: c < 9, lambda c: W(lambda d: d < c, lambda d: d + 1, a) + 1, a
            ),
            lambda a, n: W(
                lambda c: c < 9, lambda c: W(lambda d: d < c, lambda d: d + 1, c) + 1, a
            ),
            lambda a, n: W(
                lambda c: c < 9, lambda c: W(lambda d: d < c, lambda d: d + c, n) + 1, a
            ),
        )
    ],
)
differ(
    "cond",
    (b, b, V, V),
    *[
        lambda p, q, x, y, f=f: f(p, q, x, y)
        for f in (
            lambda p, q, x, y: lax.cond(p, lambda x, y: x + y, lambda x, y: x - y, x, y),
            lambda p, q, x, y: lax.cond(p, lambda x, y: x - y, lambda x, y: x + y, x, y),
            lambda p, q, x, y: lax.cond(q, lambda x, y: x + y, lambda x, y: x - y, x, y),
            lambda p, q, x, y: lax.cond(~p, lambda x, y: x + y, lambda x, y: x - y, x, y),
            lambda p, q, x, y: lax.cond(p, lambda x, y: x + y, lambda x, y: x - y, y, x),
            lambda p, q, x, y: lax.cond(p, lambda x, y: x + y, lambda x, y: x + y, x, y),
            lambda p, q, x, y: lax.cond(p, lambda x, y: x - y, lambda x, y: x - y, x, y),
            lambda p, q, x, y: lax.cond(p, lambda x, y: x, lambda x, y: y, x, y),
            lambda p, q, x, y: lax.cond(p, lambda x, y: y, lambda x, y: x, x, y),
            lambda p, q, x, y: lax.cond(p, lambda: x + y, lambda: y - x),
            lambda p, q, x, y: jnp.where(p, x + y, x - y),
            lambda p, q, x, y: lax.cond(p & q, lambda x, y: x + y, lambda x, y: x - y, x, y),
        )
    ],
)
differ(
    "cond-of-cond",
    (b, b, V, V),
    *[
        lambda p, q, x, y, f=f: f(p, q, x, y)
        for f in (
            lambda p, q, x, y: lax.cond(
                p, lambda: lax.cond(p, lambda: x, lambda: y), lambda: x * y
            ),
            lambda p, q, x, y: lax.cond(
                p, lambda: lax.cond(q, lambda: x, lambda: y), lambda: x * y
            ),
            lambda p, q, x, y: lax.cond(
                q, lambda: lax.cond(p, lambda: x, lambda: y), lambda: x * y
            ),
            lambda p, q, x, y: lax.cond(
                q, lambda: lax.cond(q, lambda: x, lambda: y), lambda: x * y
            ),
            lambda p, q, x, y: lax.cond(
                p, lambda: x * y, lambda: lax.cond(p, lambda: x, lambda: y)
            ),
            lambda p, q, x, y: lax.cond(
                p, lambda: lax.cond(p, lambda: y, lambda: x), lambda: x * y
            ),
            lambda p, q, x, y: lax.cond(
                p, lambda: lax.cond(q, lambda: y, lambda: x), lambda: x * y
            ),
            lambda p, q, x, y: lax.cond(
                p, lambda: x * y, lambda: lax.cond(q, lambda: x, lambda: y)
            ),
        )
    ],
)
differ(
    "cond-twice",
    (b, b, V, V),
    *[
        lambda p, q, x, y, f=f: f(p, q, x, y)
        for f in (
            lambda p, q, x, y: (
                lax.cond(p, lambda: x, lambda: y) + lax.cond(p, lambda: x * 2, lambda: y * 3)
            ),
            lambda p, q, x, y: (
                lax.cond(p, lambda: x, lambda: y) + lax.cond(q, lambda: x * 2, lambda: y * 3)
            ),
            lambda p, q, x, y: (
                lax.cond(q, lambda: x, lambda: y) + lax.cond(p, lambda: x * 2, lambda: y * 3)
            ),
            lambda p, q, x, y: (
                lax.cond(p, lambda: x, lambda: y) + lax.cond(p, lambda: y * 3, lambda: x * 2)
            ),
            lambda p, q, x, y: lax.cond(p, lambda: (x, y), lambda: (y, x)),
            lambda p, q, x, y: lax.cond(p, lambda: (y, x), lambda: (x, y)),
            lambda p, q, x, y: (
                lax.cond(p, lambda: x, lambda: y),
                lax.cond(q, lambda: y, lambda: x),
            ),
            lambda p, q, x, y: lax.cond(p, lambda: (x, x), lambda: (y, y)),
            lambda p, q, x, y: lax.cond(p, lambda: (x, y), lambda: (y, y)),
        )
    ],
)
differ(
    "switch",
    (i, V),
    *[
        lambda k, x, f=f: f(k, x)
        for f in (
            lambda k, x: lax.switch(k, [jnp.sin, jnp.cos, jnp.tan], x),
            lambda k, x: lax.switch(k, [jnp.cos, jnp.sin, jnp.tan], x),
            lambda k, x: lax.switch(k, [jnp.sin, jnp.tan, jnp.cos], x),
            lambda k, x: lax.switch(k, [jnp.sin, jnp.cos], x),
            lambda k, x: lax.switch(k, [jnp.sin, jnp.cos, jnp.cos], x),
            lambda k, x: lax.switch(k + 1, [jnp.sin, jnp.cos, jnp.tan], x),
            lambda k, x: lax.switch(k, [jnp.sin, jnp.sin, jnp.cos], x),
            lambda k, x: lax.switch(k, [jnp.sin, jnp.cos, jnp.tan, jnp.tan], x),
        )
    ],
)
bv = S((4,), bool)
differ(
    "vmap-cond",
    (b, bv, V),
    *[
        lambda p, q, x, f=f: f(p, q, x)
        for f in (
            lambda p, q, x: jax.vmap(lambda z: lax.cond(p, jnp.sin, jnp.cos, z))(x),
            lambda p, q, x: jax.vmap(lambda r, z: lax.cond(r, jnp.sin, jnp.cos, z))(q, x),
            lambda p, q, x: jax.vmap(lambda r, z: lax.cond(r, jnp.cos, jnp.sin, z))(q, x),
            lambda p, q, x: jax.vmap(lambda z: lax.cond(q[0], jnp.sin, jnp.cos, z))(x),
            lambda p, q, x: jax.vmap(lambda z: lax.cond(q[1], jnp.sin, jnp.cos, z))(x),
            lambda p, q, x: jax.vmap(lambda r: lax.cond(r, jnp.sin, jnp.cos, x[0]))(q),
        )
    ],
)
differ(
    "loop-in-branch-in-loop",
    (b, s, XS),
    *[
        lambda p, a, xs, r=r, q=q: lax.scan(
            lambda c, x: lax.cond(
                p if q else c > x,
                lambda: (lax.fori_loop(0, r, lambda k, d: d * x + c, c), c),
                lambda: (c + x, x),
            ),
            a,
            xs,
        )
        for r in (3, 4)
        for q in (0, 1)
    ],
    lambda p, a, xs: lax.scan(
        lambda c, x: lax.cond(
            c > x, lambda: (lax.fori_loop(0, 3, lambda k, d: d * c + x, c), c), lambda: (c + x, x)
        ),
        a,
        xs,
    ),
    lambda p, a, xs: lax.scan(
        lambda c, x: lax.cond(
            c > x, lambda: (lax.fori_loop(0, 3, lambda k, d: d * x + c, x), c), lambda: (c + x, x)
        ),
        a,
        xs,
    ),
)
B = lambda x, sh, d: lax.broadcast_in_dim(x, sh, d)
differ(
    "repeated",
    (V,),
    *[
        lambda x, f=f: f(x)
        for f in (
            lambda x: jnp.sum(B(x, (4, 4), (0,)), 0),
            lambda x: jnp.sum(B(x, (4, 4), (0,)), 1),
            lambda x: jnp.sum(B(x, (5, 4), (1,)), 0),
            lambda x: jnp.sum(B(x, (6, 4), (1,)), 0),
            lambda x: jnp.prod(B(x, (4, 4), (0,)), 1),
            lambda x: jnp.max(B(x, (4, 4), (0,)), 0),
            lambda x: jnp.cumsum(B(x, (4, 4), (0,)), 0),
            lambda x: jnp.cumsum(B(x, (4, 4), (0,)), 1),
            lambda x: jnp.cumsum(B(x, (4, 4), (1,)), 1),
            lambda x: B(x, (4, 4), (0,)) @ B(x, (4, 4), (0,)),
            lambda x: B(x, (4, 4), (1,)) @ B(x, (4, 4), (0,)),
            lambda x: B(x, (4, 4), (0,)) @ B(x, (4, 4), (1,)),
            lambda x: B(x, (4, 4), (1,)) @ B(x, (4, 4), (1,)),
            lambda x: B(x, (4, 4), (0,)) + B(x, (4, 4), (1,)),
            lambda x: B(x, (4, 4), (0,)) - B(x, (4, 4), (1,)),
            lambda x: B(x, (4, 4), (1,)) - B(x, (4, 4), (0,)),
            lambda x: B(x, (4, 4), (0,)) + B(x, (4, 4), (0,)),
            lambda x: B(x, (4, 4), (1,)) + B(x, (4, 4), (1,)),
            lambda x: B(x, (4, 4), (0,))[::-1],
            lambda x: B(x, (4, 4), (0,))[:, ::-1],
            lambda x: B(x, (4, 4), (1,)).at[0].set(0),
            lambda x: jnp.argmax(B(x, (4, 4), (0,)), 0),
            lambda x: jnp.argmax(B(x, (4, 4), (0,)), 1),
            lambda x: jnp.sort(B(x, (4, 4), (0,)), 0),
            lambda x: jnp.sort(B(x, (4, 4), (1,)), 1),
            lambda x: jnp.sum(B(x, (4, 4), (0,))),
            lambda x: jnp.sum(B(x, (4, 4, 4), (0,)), (0, 1)),
            lambda x: jnp.sum(B(x, (4, 4, 4), (0,)), (1, 2)),
            lambda x: jnp.sum(B(x, (4, 4, 4), (1,)), (1, 2)),
            lambda x: jnp.sum(B(x, (4, 4, 4), (2,)), (1, 2)),
        )
    ],
)
differ(
    "repeated-vmap",
    (X, V),
    *[
        lambda x, v, f=f: f(x, v)
        for f in (
            lambda x, v: jax.vmap(lambda r: r + v)(x),
            lambda x, v: jax.vmap(lambda r: r + v, 1, 1)(x),
            lambda x, v: jax.vmap(lambda r, q: r + q)(x, v),
            lambda x, v: jax.vmap(lambda r, q: r @ q, (0, None))(x, v),
            lambda x, v: jax.vmap(lambda r, q: r @ q, (1, None))(x, v),
            lambda x, v: jax.vmap(lambda q: x @ q, 0)(B(v, (3, 4), (1,))),
            lambda x, v: jax.vmap(lambda q: x @ q, 0)(B(v, (4, 4), (1,))),
            lambda x, v: jax.vmap(lambda q: x @ q, 0)(B(v, (4, 4), (0,))),
            lambda x, v: jax.vmap(lambda q: jnp.sum(x * q, 1), 0)(B(v, (4, 4), (1,))),
            lambda x, v: jax.vmap(lambda q: jnp.sum(x * q, 0), 0)(B(v, (4, 4), (1,))),
            lambda x, v: jax.vmap(lambda q: jnp.sum(x * q, 0), 0)(B(v, (4, 4), (0,))),
        )
    ],
)
differ(
    "repeated-scan",
    (V, S((3, 4), f32)),
    *[
        lambda v, x, f=f: f(v, x)
        for f in (
            lambda v, x: lax.scan(
                lambda c, r: (c + r, c), B(v, (3, 4), (1,)), B(x, (5, 3, 4), (1, 2))
            ),
            lambda v, x: lax.scan(
                lambda c, r: (c + r, c), B(v, (3, 4), (1,)), B(x, (6, 3, 4), (1, 2))
            ),
            lambda v, x: lax.scan(
                lambda c, r: (c * r, c), B(v, (3, 4), (1,)), B(x, (5, 3, 4), (1, 2))
            ),
            lambda v, x: lax.scan(
                lambda c, r: (c + r, c), B(v, (4, 4), (1,)), B(x[0], (5, 4, 4), (1,))
            ),
            lambda v, x: lax.scan(
                lambda c, r: (c + r, c), B(v, (4, 4), (0,)), B(x[0], (5, 4, 4), (1,))
            ),
            lambda v, x: lax.scan(
                lambda c, r: (c + r, c), B(v, (4, 4), (1,)), B(x[0], (5, 4, 4), (2,))
            ),
            lambda v, x: lax.scan(
                lambda c, r: (c + r, c), B(v, (4, 4), (0,)), B(x[0], (4, 4, 4), (0,))
            ),
        )
    ],
)
differ(
    "splat-kinds",
    (X,),
    lambda x: jnp.zeros((4, 4)),
    lambda x: jnp.ones((4, 4)),
    lambda x: jnp.zeros((4, 5)),
    lambda x: jnp.zeros((5, 4)),
    lambda x: jnp.zeros((4, 4), jnp.int32),
    lambda x: jnp.eye(4),
    lambda x: jnp.full((4, 4), -0.0),
    lambda x: jnp.tri(4),
    lambda x: jnp.zeros((20,)),
    lambda x: jnp.zeros((4, 4, 1)),
)


def deep(leaf, depth, order=lambda a, b: (a, b), top=lambda a, b: (a, b), every=()):
    f = jax.jit(leaf)
    for d in range(depth):
        o = every[d] if d in every and isinstance(every, dict) else order

        def g(x, y, f=f, o=o, d=d):
            p = f(x, y)
            q = f(*o(y + d, x))
            return p - q

        f = jax.jit(g)
    return lambda x, y: f(*top(x, y))


for d in (int(__import__("os").environ.get("D", 6)),):
    differ(
        f"deep-{d}",
        (V, V),
        deep(lambda x, y: jnp.sin(x) * y, d),
        deep(lambda x, y: jnp.cos(x) * y, d),
        deep(lambda x, y: jnp.sin(y) * x, d),
        deep(lambda x, y: jnp.sin(x) * y, d + 1),
        deep(lambda x, y: jnp.sin(x) * y, d, order=lambda a, b: (b, a)),
        deep(lambda x, y: jnp.sin(x) * y, d, top=lambda a, b: (b, a)),
        deep(lambda x, y: jnp.sin(x) * y, d, top=lambda a, b: (a, a)),
        deep(lambda x, y: jnp.sin(x) * y, d, every={d // 2: lambda a, b: (b, a)}),
        deep(lambda x, y: jnp.sin(x) * y, d, every={d // 2: lambda a, b: (a, a)}),
        deep(lambda x, y: jnp.sin(x) * y, d, every={0: lambda a, b: (b, a)}),
        deep(lambda x, y: jnp.sin(x) * y, d, every={0: lambda a, b: (b, b)}),
        deep(lambda x, y: jnp.sin(x) * y, d, every={d - 1: lambda a, b: (b, a)}),
        deep(lambda x, y: jnp.sin(x) * y, d, every={0: lambda a, b: (a + 1, b)}),
        deep(lambda x, y: jnp.sin(x) * y, d, every={0: lambda a, b: (a + 2, b)}),
    )
    U = jnp.arange(40.0)
    U2 = U.at[39].add(1)
    U3 = jnp.arange(40.0)[::-1]

    def leaf2(c, e):
        return lambda x, y: x * c.sum() - y * e.sum()

    differ(
        f"deep-constant-{d}",
        (V, V),
        deep(leaf2(U, U2), d),
        deep(leaf2(U2, U), d),
        deep(leaf2(U, U), d),
        deep(leaf2(U2, U2), d),
        deep(leaf2(U, U3), d),
        deep(lambda x, y: x * U.sum() - y * U2.sum() - U2[0] * 0, d),
    )

    def passed(c, e, swap=None):
        f = jax.jit(lambda x, c, e: jnp.sin(x) * c - e)
        for k in range(d):

            def g(x, c, e, f=f, k=k):
                return f(x, c, e) - f(x + k, *((e, c) if k == swap else (c, e)))

            f = jax.jit(g)
        return lambda x, y: f(x, c, e)

    c, e = (jnp.arange(4.0), jnp.ones(4))
    differ(
        f"deep-passed-{d}",
        (V, V),
        passed(c, e),
        passed(e, c),
        passed(c, c),
        passed(e, e),
        passed(c, e, 0),
        passed(c, e, d // 2),
        passed(c, e, d - 1),
        lambda x, y: passed(c, y)(x, y),
        lambda x, y: passed(y, c)(x, y),
    )

    def outs(pick, pair=lambda u, v: (u, v), at=None):
        f = jax.jit(lambda x, y: (jnp.sin(x), jnp.cos(y)))
        for k in range(d):

            def g(x, y, f=f, k=k):
                u, v = f(x, y)
                w, z = f(y + k, x)
                return (u - z, v * w) if k != at else pair(u - z, v * w)

            f = jax.jit(g)
        return lambda x, y: pick(*f(x, y))

    differ(
        f"deep-outs-{d}",
        (V, V),
        outs(lambda u, v: (u, v)),
        outs(lambda u, v: (v, u)),
        outs(lambda u, v: u),
        outs(lambda u, v: v),
        outs(lambda u, v: (u, v), lambda u, v: (v, u), 0),
        outs(lambda u, v: (u, v), lambda u, v: (v, u), d // 2),
        outs(lambda u, v: (u, v), lambda u, v: (u, u), d // 2),
        outs(lambda u, v: (u, v), lambda u, v: (v, v), d // 2),
        outs(lambda u, v: (u, u)),
    )


def deeploop(leaf, depth, start=lambda c: c, n=2):
    f = leaf
    for k in range(depth):

        def g(c, f=f, k=k):
            return lax.fori_loop(0, n, lambda j, d: f(f(d) - j), start(c))

        f = g
    return f


def dl2(sw):

    def f(a, b_):
        g = jax.jit(lambda p, q: (p * q, p - q))
        for k in range(10):

            def h(p, q, g=g, k=k):
                r = lax.scan(
                    lambda c, _: (g(*(c if sw != k else c[::-1])), c[0]), (p, q), None, length=2
                )[0]
                return g(*r)

            g = jax.jit(h)
        return g(a, b_)

    return f
