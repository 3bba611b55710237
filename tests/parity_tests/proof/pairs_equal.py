"""Programs that are one computation by construction."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import ShapeDtypeStruct as S
from jax import export, lax
from pairs import equal

f32 = jnp.float32
X = S((4, 4), f32)
V = S((4,), f32)
s = S((), f32)
i = S((), jnp.int32)
b = S((), bool)
XS = S((5,), f32)
A = np.arange(40, dtype=f32)
J = jnp.asarray(A)
W40 = S((40,), f32)
n = [0]
equal("renamed", (V,), lambda x: jnp.sin(x) + 1, lambda y: jnp.sin(y) + 1)
equal(
    "reordered",
    (V, V),
    lambda x, y: (lambda a, c: a - c)(jnp.sin(x), jnp.cos(y)),
    lambda x, y: (lambda c, a: a - c)(jnp.cos(y), jnp.sin(x)),
)
equal("jit", (V,), lambda x: jnp.sin(x) * 2, lambda x: jax.jit(lambda z: jnp.sin(z) * 2)(x))
equal("jit-part", (V,), lambda x: jnp.sin(x) * 2, lambda x: jax.jit(lambda z: z * 2)(jnp.sin(x)))
equal(
    "jit-jit",
    (V,),
    lambda x: jnp.sin(x) * 2,
    lambda x: jax.jit(jax.jit(lambda z: z * 2))(jax.jit(jnp.sin)(x)),
)
equal("dead", (V,), lambda x: x * 2, lambda x: (jnp.sin(x), x * 2)[1])
equal("dead-const", (W40,), lambda x: x * 2, lambda x: (x * J, x * 2)[1])
equal("dead-jit-out", (V,), lambda x: x * 2, lambda x: jax.jit(lambda z: (z * 2, jnp.sin(z)))(x)[0])
equal("repeated", (V,), lambda x: jnp.sin(x) * jnp.sin(x), lambda x: (lambda r: r * r)(jnp.sin(x)))
equal(
    "repeated-call",
    (V,),
    lambda x: (lambda f: f(x) * f(x))(jax.jit(jnp.sin)),
    lambda x: (lambda r: r * r)(jnp.sin(x)),
)
equal("np-or-jax", (W40,), lambda x: x * A, lambda x: x * J)
equal(
    "passed-down",
    (W40,),
    lambda x: jax.jit(lambda z: z * J)(x),
    lambda x: jax.jit(lambda z, c: z * c)(x, J),
)
equal(
    "passed-np",
    (W40,),
    lambda x: jax.jit(lambda z: z * A)(x),
    lambda x: jax.jit(lambda z, c: z * c)(x, A),
)
equal("two-copies", (W40,), lambda x: x * J + J, lambda x: x * J + jnp.array(A))
equal(
    "const-order",
    (W40,),
    lambda x: x * J - (x + A[::-1]),
    lambda x: (lambda q: x * J - q)(x + A[::-1]),
)
equal(
    "fortran",
    (S((5, 8), f32),),
    lambda x: x * A.reshape(5, 8),
    lambda x: x * np.asfortranarray(A.reshape(5, 8)),
)
equal("strided", (S((20,), f32),), lambda x: x * A[::2], lambda x: x * A[::2].copy())
equal("negative-stride", (W40,), lambda x: x * A[::-1], lambda x: x * A[::-1].copy())
equal(
    "broadcasted-np",
    (S((5, 40), f32),),
    lambda x: x * np.broadcast_to(A, (5, 40)),
    lambda x: x * np.broadcast_to(A, (5, 40)).copy(),
)
equal(
    "int4-bits",
    (S((8,), jnp.int4),),
    lambda x: x * np.full(8, 17, np.uint8).view(jnp.int4),
    lambda x: x * np.full(8, 1, np.uint8).view(jnp.int4),
)
equal(
    "scan-carry-order",
    (s, s, XS),
    lambda a, c, xs: lax.scan(lambda r, x: ((r[0] + x, r[1] * r[0]), r[1]), (a, c), xs),
    lambda a, c, xs: (lambda o: ((o[0][1], o[0][0]), o[1]))(
        lax.scan(
            lambda r, x: (
                (r[1] * r[0 + 1] * 0 + r[0] * r[1], r[1] + x)[:0] or (r[0] * r[1], r[1] + x),
                r[0],
            ),
            (c, a),
            xs,
        )
    ),
)
equal(
    "scan-carry-order-2",
    (s, s, XS),
    lambda a, c, xs: lax.scan(lambda r, x: ((r[0] + x, r[1] * 2), r[1]), (a, c), xs)[1],
    lambda a, c, xs: lax.scan(lambda r, x: ((r[0] * 2, r[1] + x), r[0]), (c, a), xs)[1],
)
equal(
    "while-carry-order",
    (s, s),
    lambda a, c: lax.while_loop(lambda r: r[0] < 5, lambda r: (r[0] + 1, r[1] * 2), (a, c)),
    lambda a, c: lax.while_loop(lambda r: r[1] < 5, lambda r: (r[0] * 2, r[1] + 1), (c, a))[::-1],
)
equal(
    "dead-carry",
    (s, s, XS),
    lambda a, c, xs: lax.scan(lambda r, x: (r + x, r), a, xs),
    lambda a, c, xs: (lambda o: (o[0][0], o[1]))(
        lax.scan(lambda r, x: ((r[0] + x, r[1] * 2), r[0]), (a, c), xs)
    ),
)
equal(
    "invariant-carry",
    (s, s, XS),
    lambda a, c, xs: lax.scan(lambda r, x: (r + x * c, r), a, xs),
    lambda a, c, xs: (lambda o: (o[0][0], o[1]))(
        lax.scan(lambda r, x: ((r[0] + x * r[1], r[1]), r[0]), (a, c), xs)
    ),
)
equal(
    "invariant-const",
    (s, XS),
    lambda a, xs: lax.scan(lambda r, x: (r + x * J[3], r), a, xs),
    lambda a, xs: (lambda o: (o[0][0], o[1]))(
        lax.scan(lambda r, x: ((r[0] + x * r[1][3], r[1]), r[0]), (a, J), xs)
    ),
)
equal(
    "hoisted",
    (s, s, XS),
    lambda a, c, xs: lax.scan(lambda r, x: (r + jnp.sin(c), r), a, xs),
    lambda a, c, xs: (lambda q: lax.scan(lambda r, x: (r + q, r), a, xs))(jnp.sin(c)),
)
equal(
    "xs-order",
    (s, XS, XS),
    lambda a, x, y: lax.scan(lambda r, z: (r * z[0] + z[1], r), a, (x, y)),
    lambda a, x, y: lax.scan(lambda r, z: (r * z[1] + z[0], r), a, (y, x)),
)
equal(
    "xs-unused",
    (s, XS, XS),
    lambda a, x, y: lax.scan(lambda r, z: (r * z, r), a, x),
    lambda a, x, y: lax.scan(lambda r, z: (r * z[0], r), a, (x, y)),
)
equal(
    "ys-dead",
    (s, XS),
    lambda a, x: lax.scan(lambda r, z: (r * z, None), a, x)[0],
    lambda a, x: lax.scan(lambda r, z: (r * z, jnp.sin(r)), a, x)[0],
)
equal(
    "ys-twice",
    (s, XS),
    lambda a, x: (lambda o: (o[0], o[1], o[1]))(lax.scan(lambda r, z: (r * z, r), a, x)),
    lambda a, x: (lambda o: (o[0], *o[1]))(lax.scan(lambda r, z: (r * z, (r, r)), a, x)),
)
equal(
    "equal-carries",
    (s, XS),
    lambda a, x: (lambda o: (o[0], o[0]))(lax.scan(lambda r, z: (r * z, None), a, x)),
    lambda a, x: lax.scan(lambda r, z: ((r[0] * z, r[1] * z), None), (a, a), x)[0],
)
equal(
    "equal-carries-crossed",
    (s, XS),
    lambda a, x: (lambda o: (o[0], o[0]))(lax.scan(lambda r, z: (r * z, None), a, x)),
    lambda a, x: lax.scan(lambda r, z: ((r[1] * z, r[0] * z), None), (a, a), x)[0],
)
equal(
    "fori-scan",
    (s,),
    lambda a: lax.fori_loop(0, 5, lambda k, r: r * 2, a),
    lambda a: lax.scan(lambda r, _: (r * 2, None), a, None, length=5)[0],
)
equal(
    "scan-jit-body",
    (s, XS),
    lambda a, x: lax.scan(lambda r, z: (r * z, r), a, x),
    lambda a, x: lax.scan(jax.jit(lambda r, z: (r * z, r)), a, x),
)
equal(
    "scan-captured-passed",
    (s, W40),
    lambda a, x: lax.scan(lambda r, z: (r * z + J.sum(), r), a, x),
    lambda a, x: jax.jit(lambda a, x, c: lax.scan(lambda r, z: (r * z + c.sum(), r), a, x))(
        a, x, J
    ),
)
equal(
    "cond-operands",
    (b, V, V),
    lambda p, x, y: lax.cond(p, lambda x, y: x + y, lambda x, y: x - y, x, y),
    lambda p, x, y: lax.cond(p, lambda: x + y, lambda: x - y),
)
equal(
    "cond-operand-order",
    (b, V, V),
    lambda p, x, y: lax.cond(p, lambda x, y: x + y, lambda x, y: x - y, x, y),
    lambda p, x, y: lax.cond(p, lambda y, x: x + y, lambda y, x: x - y, y, x),
)
equal(
    "cond-const",
    (b, W40),
    lambda p, x: lax.cond(p, lambda x: x * J, lambda x: x, x),
    lambda p, x: lax.cond(p, lambda x, c: x * c, lambda x, c: x, x, J),
)
equal(
    "cond-same-branches",
    (b, V),
    lambda p, x: jnp.sin(x),
    lambda p, x: lax.cond(p, jnp.sin, jnp.sin, x),
)
equal(
    "cond-out-order",
    (b, V, V),
    lambda p, x, y: lax.cond(p, lambda: (x + y, x), lambda: (y, y - x)),
    lambda p, x, y: lax.cond(p, lambda: (x, x + y), lambda: (y - x, y))[::-1],
)
equal(
    "cond-dead-out",
    (b, V, V),
    lambda p, x, y: lax.cond(p, lambda: x + y, lambda: y),
    lambda p, x, y: lax.cond(p, lambda: (x + y, jnp.sin(x)), lambda: (y, y))[0],
)
equal(
    "cond-cse",
    (b, V, V),
    lambda p, x, y: (lambda r: r * r)(lax.cond(p, lambda: x, lambda: y)),
    lambda p, x, y: lax.cond(p, lambda: x, lambda: y) * lax.cond(p, lambda: x, lambda: y),
)
equal(
    "cond-forwarded",
    (b, V, V),
    lambda p, x, y: (x, lax.cond(p, lambda: x, lambda: y)),
    lambda p, x, y: lax.cond(p, lambda: (x, x), lambda: (x, y)),
)
equal("vmap-twice", (X,), lambda x: jax.vmap(jax.vmap(jnp.sin))(x), jnp.sin)
equal(
    "vmap-const", (S((3, 40), f32),), lambda x: jax.vmap(lambda r: r * J)(x), lambda x: x * J[None]
)
equal(
    "vmap-none",
    (S((3, 40), f32), W40),
    lambda x, y: jax.vmap(lambda r: r * y)(x),
    lambda x, y: jax.vmap(lambda r, q: r * q, (0, None))(x, y),
)
equal("convert-noop", (X,), lambda x: x, lambda x: x.astype(f32))
equal("scalar-np", (X,), lambda x: x * 2, lambda x: x * np.float32(2))
equal(
    "grad-jit",
    (V,),
    jax.grad(lambda x: jnp.sin(x).sum()),
    jax.grad(jax.jit(lambda x: jnp.sin(x).sum())),
)
equal(
    "grad-captured",
    (W40,),
    jax.grad(lambda x: jnp.sin(x * J).sum()),
    jax.grad(jax.jit(lambda x: jnp.sin(x * J).sum())),
)
equal(
    "grad-passed",
    (W40,),
    jax.grad(lambda x: jnp.sin(x * J).sum()),
    lambda x: jax.grad(lambda x, c: jnp.sin(x * c).sum())(x, J),
)
equal(
    "grad-scan-captured",
    (s, W40),
    jax.grad(lambda a, x: lax.scan(lambda r, z: (jnp.sin(r * z) + J.sum(), None), a, x)[0]),
    lambda a, x: jax.grad(
        lambda a, x, c: lax.scan(lambda r, z: (jnp.sin(r * z) + c.sum(), None), a, x)[0]
    )(a, x, J),
)
equal(
    "grad-scan-dot",
    (V, S((5, 4), f32)),
    jax.grad(lambda a, x: lax.scan(lambda r, z: (jnp.sin(r @ M) * z, None), a, x)[0].sum()),
    lambda a, x: jax.grad(
        lambda a, x, c: lax.scan(lambda r, z: (jnp.sin(r @ c) * z, None), a, x)[0].sum()
    )(a, x, M),
)
M = jnp.arange(16.0).reshape(4, 4)
equal(
    "grad-scan-dot-carry",
    (V, S((5, 4), f32)),
    jax.grad(lambda a, x: lax.scan(lambda r, z: (jnp.sin(r @ M) * z, None), a, x)[0].sum()),
    jax.grad(
        lambda a, x: lax.scan(lambda r, z: ((jnp.sin(r[0] @ r[1]) * z, r[1]), None), (a, M), x)[0][
            0
        ].sum()
    ),
)
equal(
    "jvp-scan",
    (V, S((5, 4), f32)),
    lambda a, x: jax.jvp(
        lambda a: lax.scan(lambda r, z: (jnp.sin(r @ M) * z, None), a, x)[0], (a,), (a,)
    ),
    lambda a, x: jax.jvp(
        lambda a: lax.scan(lambda r, z: ((jnp.sin(r[0] @ r[1]) * z, r[1]), None), (a, M), x)[0][0],
        (a,),
        (a,),
    ),
)
equal(
    "vmap-scan",
    (X, S((5, 4), f32)),
    lambda a, x: jax.vmap(lambda q: lax.scan(lambda r, z: (jnp.sin(r @ M) * z, None), q, x)[0])(a),
    lambda a, x: jax.vmap(
        lambda q, c: lax.scan(lambda r, z: (jnp.sin(r @ c) * z, None), q, x)[0], (0, None)
    )(a, M),
)


@jax.custom_jvp
def cj(x):
    return jnp.sin(x)


cj.defjvp(lambda p, t: (cj(p[0]), t[0] * 3))
equal("custom-jvp-call", (V,), cj, lambda x: jax.jit(cj)(x))
equal("custom-jvp-inlined", (V,), cj, jnp.sin)


@jax.custom_vjp
def cv(x):
    return jnp.sin(x)


cv.defvjp(lambda x: (cv(x), x), lambda r, g: (g * r,))
equal("custom-vjp-inlined", (V,), cv, jnp.sin)
equal(
    "custom-vjp-grad",
    (V,),
    jax.grad(lambda x: cv(x).sum()),
    jax.grad(lambda x: jax.jit(cv)(x).sum()),
)
equal("named-scope", (V,), jnp.sin, lambda x: jax.named_scope("q")(jnp.sin)(x))
equal("named-call", (V,), jnp.sin, jax.named_call(jnp.sin, name="z"))
K0 = jax.random.key(0)
equal(
    "key-passed",
    (W40,),
    lambda x: x + jax.random.uniform(K0, (40,)),
    lambda x: jax.jit(lambda x, k: x + jax.random.uniform(k, (40,)))(x, K0),
)
equal(
    "linear-solve",
    (X, V),
    lambda a, v: lax.custom_linear_solve(lambda x: a @ x, v, lambda mv, q: jnp.linalg.solve(a, q)),
    lambda a, v: lax.custom_linear_solve(
        jax.jit(lambda x: a @ x), v, jax.jit(lambda mv, q: jnp.linalg.solve(a, q), static_argnums=0)
    ),
)
equal(
    "static-arg",
    (V,),
    lambda x: x * 3,
    lambda x: jax.jit(lambda z, k: z * k, static_argnums=1)(x, 3),
)
equal("kwargs", (V, V), lambda x, y: x - y, lambda x, y: jax.jit(lambda a, b: a - b)(b=y, a=x))
equal(
    "pytree",
    (V, V),
    lambda x, y: x - y,
    lambda x, y: jax.jit(lambda d: d["a"] - d["b"])(dict(a=x, b=y)),
)
equal(
    "inline",
    (V,),
    jax.jit(lambda x: jnp.sin(x) * 2),
    lambda x: jax.jit(lambda z: jnp.sin(z) * 2, inline=True)(x),
)
equal("unused-arg-jit", (V, V), lambda x, y: x * 2, lambda x, y: jax.jit(lambda a, b: a * 2)(x, y))
equal(
    "unused-keep",
    (V, V),
    lambda x, y: x * 2,
    lambda x, y: jax.jit(lambda a, b: a * 2, keep_unused=True)(x, y),
)
equal(
    "callback-same",
    (V,),
    lambda x: jax.pure_callback(hh, V, x),
    lambda x: jax.jit(lambda z: jax.pure_callback(hh, V, z))(x),
)


def hh(x):
    return np.sin(x)


equal(
    "debug-jit",
    (V,),
    lambda x: (jax.debug.print("{}", x), x * 2)[1],
    lambda x: jax.jit(lambda z: (jax.debug.print("{}", z), z * 2)[1])(x),
)
equal(
    "ordered-jit",
    (V,),
    lambda x: (
        jax.debug.print("{}", x, ordered=True),
        jax.debug.print("{}", x * 2, ordered=True),
        x * 2,
    )[2],
    lambda x: (
        jax.jit(lambda z: jax.debug.print("{}", z, ordered=True))(x),
        jax.jit(lambda z: jax.debug.print("{}", z, ordered=True))(x * 2),
        x * 2,
    )[2],
)
equal(
    "where-select",
    (S((4,), bool), V, V),
    lambda p, x, y: jnp.where(p, x, y),
    lambda p, x, y: lax.select(p, x, y),
)
equal("sum-axes", (X,), lambda x: jnp.sum(x), lambda x: jnp.sum(x, axis=(0, 1)))
equal("deep", (V,), lambda x: deep(x, 9), lambda x: deep(x, 9, True))


def deep(x, n, late=False):
    f = jax.jit(lambda z, c: jnp.sin(z) * c)
    for _ in range(n):
        f = (
            jax.jit(lambda z, c, f=f: f(f(z, c), c))
            if not late
            else jax.jit(lambda q, z, f=f: f(f(q, z), z))
        )
    return f(x, jnp.arange(4.0))


def deepcap(x, n, passed):
    c0 = jnp.arange(40.0)
    f = jax.jit((lambda z, c: jnp.sin(z) * c) if passed else lambda z: jnp.sin(z) * c0)
    for _ in range(n):
        f = jax.jit(lambda z, c, f=f: f(f(z, c), c)) if passed else jax.jit(lambda z, f=f: f(f(z)))
    return f(x, c0) if passed else f(x)


equal(
    "nested-scan-captured",
    (W40,),
    lambda x: lax.scan(
        lambda r, _: (lax.scan(lambda q, _: (q * J, None), r, None, length=3)[0], None),
        x,
        None,
        length=2,
    )[0],
    lambda x: lax.scan(
        lambda r, _: (
            lax.scan(lambda q, _: ((q[0] * q[1], q[1]), None), r, None, length=3)[0],
            None,
        ),
        (x, J),
        None,
        length=2,
    )[0][0],
)
equal(
    "cond-in-scan-captured",
    (W40,),
    lambda x: lax.scan(
        lambda r, _: (lax.cond(r[0] > 0, lambda: r * J, lambda: r), None), x, None, length=2
    )[0],
    lambda x: lax.scan(
        lambda r, _: ((lax.cond(r[0][0] > 0, lambda: r[0] * r[1], lambda: r[0]), r[1]), None),
        (x, J),
        None,
        length=2,
    )[0][0],
)
equal(
    "associative",
    (W40,),
    lambda x: lax.associative_scan(lambda a, b: a * b, x * J),
    lambda x: lax.associative_scan(jnp.multiply, x * A),
)
equal(
    "map",
    (W40,),
    lambda x: lax.map(lambda z: z * J, x),
    lambda x: lax.scan(lambda _, z: (None, z * J), None, x)[1],
)
equal(
    "composite-jit",
    (V,),
    lambda x: lax.composite(jnp.sin, "a.b")(x),
    lambda x: lax.composite(jax.jit(jnp.sin), "a.b")(x),
)
here = export.export(jax.jit(lambda x: 2 * x))(V)
elsewhere = export.export(jax.jit(lambda x: 2 * x))(V)
equal("exported", (V,), lambda x: here.call(x), lambda x: elsewhere.call(x))
