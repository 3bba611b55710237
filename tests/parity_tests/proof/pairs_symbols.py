"""What the rules may confuse: known branches, loops beside loops, calls in calls, repeating."""

# ruff: noqa: E731

import jax
import jax.numpy as jnp
import numpy as np
from jax import ShapeDtypeStruct as S
from jax import lax
from pairs import differ

V = S((8,), jnp.float32)
s = S((), jnp.float32)
b = S((), bool)
i = S((), jnp.int32)
differ(
    "cond-known",
    (b, b, V, V),
    *[
        lambda p, q, x, y, f=f: f(p, q, x, y)
        for f in (
            lambda p, q, x, y: (lambda r: lax.cond(p, lambda: r * 2, lambda: r * 3))(
                lax.cond(p, lambda: x, lambda: y)
            ),
            lambda p, q, x, y: (lambda r: lax.cond(p, lambda: r * 2, lambda: r * 3))(
                lax.cond(p, lambda: y, lambda: x)
            ),
            lambda p, q, x, y: (lambda r: lax.cond(p, lambda: r * 2, lambda: r * 3))(
                lax.cond(q, lambda: x, lambda: y)
            ),
            lambda p, q, x, y: (lambda r: lax.cond(q, lambda: r * 2, lambda: r * 3))(
                lax.cond(p, lambda: x, lambda: y)
            ),
            lambda p, q, x, y: (lambda r: lax.cond(p, lambda: r * 3, lambda: r * 2))(
                lax.cond(p, lambda: x, lambda: y)
            ),
        )
    ],
)
differ(
    "cond-known-in-loop",
    (b, V, V),
    *[
        lambda p, x, y, f=f: lax.fori_loop(0, 3, f, (p, x, y))
        for f in (
            lambda k, c: (~c[0], lax.cond(c[0], lambda: c[1] * 2, lambda: c[2]), c[2]),
            lambda k, c: (~c[0], lax.cond(~c[0], lambda: c[1] * 2, lambda: c[2]), c[2]),
            lambda k, c: (c[0], lax.cond(c[0], lambda: c[1] * 2, lambda: c[2]), c[2]),
            lambda k, c: (~c[0], lax.cond(c[0], lambda: c[2], lambda: c[1] * 2), c[2]),
            lambda k, c: (~c[0], lax.cond(c[0], lambda: c[1] * 2, lambda: c[2]), c[1]),
        )
    ],
)
differ(
    "switch-known",
    (i, V, V),
    *[
        lambda k, x, y, f=f: f(k, x, y)
        for f in (
            lambda k, x, y: (lambda r: lax.switch(k, [lambda: r, lambda: r * 2, lambda: r * 3]))(
                lax.switch(k, [lambda: x, lambda: y, lambda: x])
            ),
            lambda k, x, y: (lambda r: lax.switch(k, [lambda: r, lambda: r * 2, lambda: r * 3]))(
                lax.switch(k + 1, [lambda: x, lambda: y, lambda: x])
            ),
            lambda k, x, y: (lambda r: lax.switch(k, [lambda: r, lambda: r * 2, lambda: r * 3]))(
                lax.switch(k, [lambda: x, lambda: x, lambda: y])
            ),
            lambda k, x, y: (lambda r: lax.switch(k, [lambda: r, lambda: r * 2]))(
                lax.switch(k, [lambda: x, lambda: y, lambda: x])
            ),
        )
    ],
)
differ(
    "siblings",
    (V, V),
    *[
        lambda x, y, f=f: f(x, y)
        for f in (
            lambda x, y: (
                lax.fori_loop(0, 3, lambda k, c: c * 2, x)
                - lax.fori_loop(0, 3, lambda k, c: c * 3, x)
            ),
            lambda x, y: (
                lax.fori_loop(0, 3, lambda k, c: c * 3, x)
                - lax.fori_loop(0, 3, lambda k, c: c * 2, x)
            ),
            lambda x, y: lax.fori_loop(
                0, 3, lambda k, c: c * 2, lax.fori_loop(0, 3, lambda k, c: c * 3, x)
            ),
            lambda x, y: lax.fori_loop(
                0, 3, lambda k, c: c * 3, lax.fori_loop(0, 3, lambda k, c: c * 2, x)
            ),
            lambda x, y: lax.fori_loop(
                0, 3, lambda k, c: lax.fori_loop(0, 3, lambda k, d: d * c, x), x
            ),
            lambda x, y: lax.fori_loop(
                0, 3, lambda k, c: lax.fori_loop(0, 3, lambda k, d: d * d, x) * c, x
            ),
            lambda x, y: lax.fori_loop(
                0, 3, lambda k, c: lax.fori_loop(0, 3, lambda k, d: d * c, c), x
            ),
            lambda x, y: lax.fori_loop(
                0, 3, lambda k, c: lax.fori_loop(0, 3, lambda k, d: d * d, c), x
            ),
            lambda x, y: lax.fori_loop(
                0, 3, lambda k, c: lax.fori_loop(0, 3, lambda k, d: d * x, c), x
            ),
        )
    ],
)


def big(inner, n=6):
    f = jax.jit(inner)
    for _ in range(n):
        f = jax.jit(lambda x, y, f=f: f(f(x, y), f(y, x)))
    return f


differ(
    "loop-in-opaque",
    (V, V),
    *[
        big(g)
        for g in (
            lambda x, y: lax.fori_loop(0, 3, lambda k, c: c * y, x),
            lambda x, y: lax.fori_loop(0, 3, lambda k, c: c * x, x),
            lambda x, y: lax.fori_loop(0, 3, lambda k, c: c * x, y),
            lambda x, y: lax.fori_loop(0, 3, lambda k, c: c * c, x),
            lambda x, y: lax.fori_loop(0, 3, lambda k, c: c * y, x) + 0 * y,
            lambda x, y: lax.fori_loop(0, 4, lambda k, c: c * y, x),
        )
    ],
)
differ(
    "opaque-in-loop",
    (V, V),
    *[
        lambda x, y, g=g: lax.fori_loop(
            0,
            3,
            lambda k, c: (big(lambda a, b: a * b - a)(c[g[0]], c[g[1]]), c[g[2]]),
            (x, x) if g[3] else (x, y),
        )
        for g in (
            (0, 1, 0, 1),
            (0, 1, 1, 1),
            (1, 0, 0, 1),
            (0, 0, 0, 1),
            (1, 0, 1, 0),
            (0, 1, 0, 0),
            (0, 1, 1, 0),
            (0, 0, 1, 0),
        )
    ],
)
c1 = jnp.arange(8.0)
c2 = jnp.arange(8.0) + 1


def op(n, *cs):
    f = jax.jit(lambda x, a, b, c: x * a - b + c)
    for _ in range(n):
        f = jax.jit(lambda x, a, b, c, f=f: f(f(f(x, a, b, c), a, b, c), a, b, c))
    return lambda x: f(x, *cs)


differ(
    "opaque-patterns",
    (V,),
    *[
        op(5, *(jnp.asarray([c1, c2][k]) for k in p))
        for p in (
            (0, 0, 1),
            (0, 1, 0),
            (1, 0, 0),
            (0, 1, 1),
            (1, 1, 0),
            (1, 0, 1),
            (0, 0, 0),
            (1, 1, 1),
        )
    ],
)
dbg = lambda t, v: jax.debug.print(t, v, ordered=True)


def ef(g):
    f = jax.jit(g)
    for _ in range(5):
        f = jax.jit(lambda x, y, f=f: f(f(x, y), f(y, x)))
    return f


differ(
    "opaque-effects",
    (V, V),
    *[
        ef(g)
        for g in (
            lambda x, y: x * y,
            lambda x, y: (dbg("{}", x), x * y)[1],
            lambda x, y: (dbg("{}", y), x * y)[1],
            lambda x, y: (dbg("a{}", x), x * y)[1],
            lambda x, y: (dbg("{}", x), dbg("{}", y), x * y)[2],
            lambda x, y: (dbg("{}", y), dbg("{}", x), x * y)[2],
            lambda x, y: (dbg("{}", x), dbg("{}", x), x * y)[2],
        )
    ],
)


def ef2(g, h):
    f = jax.jit(g)
    q = jax.jit(h)
    for _ in range(4):
        f = jax.jit(lambda x, y, f=f: f(f(x, y), f(y, x)))
    for _ in range(4):
        q = jax.jit(lambda x, y, q=q: q(q(x, y), q(y, x)))
    return (f, q)


g1 = lambda x, y: (dbg("1{}", x), x * y)[1]
g2 = lambda x, y: (dbg("2{}", x), x * y)[1]
differ(
    "opaque-effects-order",
    (V, V),
    lambda x, y: (lambda f, q: (f(x, y), q(x, y)))(*ef2(g1, g2)),
    lambda x, y: (lambda f, q: (q(x, y), f(x, y))[::-1])(*ef2(g1, g2)),
    lambda x, y: (lambda f, q: (f(x, y), f(y, x)))(*ef2(g1, g2)),
    lambda x, y: (lambda f, q: (f(y, x), f(x, y))[::-1])(*ef2(g1, g2)),
)
B = lax.broadcast_in_dim
differ(
    "repeat-laws",
    (S((4, 4), jnp.float32), S((4,), jnp.float32)),
    *[
        lambda m, v, f=f: f(m, v)
        for f in (
            lambda m, v: B(v, (4, 4), (0,)) @ m,
            lambda m, v: B(v, (4, 4), (1,)) @ m,
            lambda m, v: m @ B(v, (4, 4), (0,)),
            lambda m, v: m @ B(v, (4, 4), (1,)),
            lambda m, v: lax.concatenate([B(v, (4, 4), (0,)), B(v, (4, 4), (0,))], 0),
            lambda m, v: lax.concatenate([B(v, (4, 4), (0,)), B(v, (4, 4), (0,))], 1),
            lambda m, v: lax.concatenate([B(v, (4, 4), (1,)), B(v, (4, 4), (1,))], 0),
            lambda m, v: lax.select(B(v > 0, (4, 4), (0,)), m, B(v, (4, 4), (1,))),
            lambda m, v: lax.select(B(v > 0, (4, 4), (1,)), m, B(v, (4, 4), (1,))),
            lambda m, v: lax.select(B(v > 0, (4, 4), (1,)), m, B(v, (4, 4), (0,))),
            lambda m, v: lax.cumlogsumexp(B(v, (4, 4), (0,)), axis=0),
            lambda m, v: lax.cumlogsumexp(B(v, (4, 4), (0,)), axis=1),
            lambda m, v: lax.rev(B(v, (4, 4), (0,)), (0,)),
            lambda m, v: lax.rev(B(v, (4, 4), (0,)), (1,)),
            lambda m, v: lax.rev(B(v, (4, 4), (1,)), (1,)),
            lambda m, v: lax.pad(B(v, (4, 4), (0,)), np.float32(0), ((1, 0, 0), (0, 0, 0))),
            lambda m, v: lax.pad(B(v, (4, 4), (0,)), np.float32(0), ((0, 0, 0), (1, 0, 0))),
            lambda m, v: lax.pad(B(v, (4, 4), (0,)), np.float32(1), ((0, 0, 0), (1, 0, 0))),
            lambda m, v: lax.sort(B(v, (4, 4), (0,)), dimension=0),
            lambda m, v: lax.sort(B(v, (4, 4), (0,)), dimension=1),
            lambda m, v: lax.reduce_window(
                B(v, (4, 4), (0,)), np.float32(0), lax.add, (2, 1), (1, 1), "VALID"
            ),
            lambda m, v: lax.reduce_window(
                B(v, (4, 4), (0,)), np.float32(0), lax.add, (1, 2), (1, 1), "VALID"
            ),
            lambda m, v: B(v, (4, 4), (0,)).reshape(16),
            lambda m, v: B(v, (4, 4), (1,)).reshape(16),
            lambda m, v: B(v, (4, 4), (0,)).reshape(2, 8),
            lambda m, v: lax.slice(B(v, (4, 4), (0,)), (0, 0), (4, 2)),
            lambda m, v: lax.slice(B(v, (4, 4), (0,)), (0, 0), (2, 4)),
            lambda m, v: lax.slice(B(v, (4, 4), (1,)), (0, 1), (4, 3)),
            lambda m, v: lax.slice(B(v, (4, 4), (1,)), (0, 0), (4, 2)),
            lambda m, v: lax.dynamic_slice(B(v, (4, 4), (1,)), (v[0].astype(int), 0), (2, 4)),
            lambda m, v: lax.dynamic_slice(B(v, (4, 4), (0,)), (v[0].astype(int), 0), (2, 4)),
            lambda m, v: B(v, (4, 4), (0,))[jnp.array([1, 2])],
            lambda m, v: B(v, (4, 4), (0,))[:, jnp.array([1, 2])],
            lambda m, v: B(v, (4, 4), (0,)).at[0].add(v),
            lambda m, v: B(v, (4, 4), (0,)).at[:, 0].add(v),
            lambda m, v: lax.broadcasted_iota(jnp.float32, (4, 4), 0) + B(v, (4, 4), (0,)),
            lambda m, v: lax.broadcasted_iota(jnp.float32, (4, 4), 1) + B(v, (4, 4), (0,)),
            lambda m, v: jnp.fft.fft(B(v, (4, 4), (0,))),
            lambda m, v: jnp.fft.fft(B(v, (4, 4), (1,))),
            lambda m, v: jax.nn.softmax(B(v, (4, 4), (0,)), 0),
            lambda m, v: jax.nn.softmax(B(v, (4, 4), (0,)), 1),
            lambda m, v: lax.clamp(np.float32(0), B(v, (4, 4), (0,)), np.float32(1)),
            lambda m, v: lax.clamp(np.float32(0), B(v, (4, 4), (1,)), np.float32(1)),
            lambda m, v: lax.bitcast_convert_type(B(v, (4, 4), (0,)), jnp.int16),
            lambda m, v: lax.bitcast_convert_type(B(v, (4, 4), (1,)), jnp.int16),
            lambda m, v: jax.random.uniform(jax.random.key(0), (4, 4)) * B(v, (4, 4), (0,)),
            lambda m, v: jax.random.uniform(jax.random.key(0), (4,)) * v,
            lambda m, v: B(jax.random.uniform(jax.random.key(0), (4,)) * v, (4, 4), (0,)),
        )
    ],
)
differ(
    "degenerate",
    (S((1, 1), jnp.float32), S((1,), jnp.float32)),
    lambda m, v: B(v, (1, 1), (0,)),
    lambda m, v: m,
    lambda m, v: B(v, (1, 3), (0,)),
    lambda m, v: B(v, (3, 1), (0,)),
    lambda m, v: B(v, (3, 1), (1,)),
    lambda m, v: B(m, (1, 3), (0, 1)),
    lambda m, v: B(m, (3, 1), (0, 1)),
)
