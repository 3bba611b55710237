"""Linear algebra, random numbers, constants and their bits, types on a part."""

# ruff: noqa: B023, E731, E741

import jax
import jax.numpy as jnp
import numpy as np
from jax import ShapeDtypeStruct as S
from jax import lax
from pairs import With, differ

f32 = jnp.float32
X = S((4, 4), f32)
V = S((4,), f32)
I = S((4, 4), jnp.int32)
B = S((4, 4), bool)
C = S((4, 4), jnp.complex64)
s = S((), f32)
i = S((), jnp.int32)
b_ = S((), bool)
L = lax.linalg


def t(f, **kw):
    return lambda *a: f(*a, **kw)


differ(
    "cholesky",
    (X,),
    t(L.cholesky, symmetrize_input=False),
    t(L.cholesky, symmetrize_input=True),
    lambda x: L.cholesky(x.T, symmetrize_input=False),
)
differ(
    "eig",
    (X,),
    *[
        t(L.eig, compute_left_eigenvectors=a, compute_right_eigenvectors=b)
        for a in (0, 1)
        for b in (0, 1)
    ],
)
differ(
    "eigh",
    (X,),
    t(L.eigh, lower=True),
    t(L.eigh, lower=False),
    t(L.eigh, symmetrize_input=False),
    t(L.eigh, sort_eigenvalues=False),
    t(L.eigh, lower=False, symmetrize_input=False),
)
differ(
    "lu", (X,), lambda x: L.lu(x), lambda x: L.lu(x)[0], lambda x: L.lu(x)[1], lambda x: L.lu(x)[2]
)
differ(
    "qr",
    (S((4, 3), f32),),
    t(L.qr),
    t(L.qr, full_matrices=False),
    t(L.qr, pivoting=True),
    lambda x: L.qr(x)[0],
    lambda x: L.qr(x)[1],
)
differ(
    "svd",
    (S((4, 3), f32),),
    t(L.svd),
    t(L.svd, full_matrices=False),
    t(L.svd, compute_uv=False),
    t(L.svd, algorithm=L.SvdAlgorithm.QR),
    t(L.svd, algorithm=L.SvdAlgorithm.JACOBI),
)
differ("schur", (X,), t(L.schur), t(L.schur, compute_schur_vectors=False))
ts = dict(left_side=True, lower=False, transpose_a=False, conjugate_a=False, unit_diagonal=False)


def TS(**kw):
    return lambda a, b: L.triangular_solve(a, b, **{**ts, **kw})


differ(
    "triangular",
    (X, X),
    TS(),
    *[TS(**{k: not v}) for k, v in ts.items() if k != "conjugate_a"],
    lambda a, b: TS()(b, a),
)
differ(
    "triangular-complex",
    (C, C),
    TS(),
    TS(transpose_a=True),
    TS(transpose_a=True, conjugate_a=True),
    TS(conjugate_a=True),
)
differ(
    "tridiagonal_solve",
    (V, V, V, X),
    lambda a, b, c, d: L.tridiagonal_solve(a, b, c, d),
    lambda a, b, c, d: L.tridiagonal_solve(c, b, a, d),
    lambda a, b, c, d: L.tridiagonal_solve(b, a, c, d),
)
differ("tridiagonal", (X,), t(L.tridiagonal, lower=True), t(L.tridiagonal, lower=False))
differ("hessenberg", (X,), t(L.hessenberg), lambda x: L.hessenberg(x.T))
differ("householder", (X, V), t(L.householder_product), lambda x, v: L.householder_product(x, -v))
differ(
    "symmetric_product",
    (X, X),
    t(L.symmetric_product),
    t(L.symmetric_product, alpha=2.0),
    t(L.symmetric_product, beta=1.0),
    t(L.symmetric_product, symmetrize_output=True),
)
differ("cholesky_update", (X, V), t(L.cholesky_update), lambda x, v: L.cholesky_update(x, -v))
K = S((4,), jnp.uint32)
differ(
    "rng_bit",
    (K,),
    *[
        lambda k, a=a, sh=sh, d=d: lax.rng_bit_generator(k, sh, d, algorithm=a)
        for a, sh, d in (
            (lax.RandomAlgorithm.RNG_DEFAULT, (4,), jnp.uint32),
            (lax.RandomAlgorithm.RNG_PHILOX, (4,), jnp.uint32),
            (lax.RandomAlgorithm.RNG_THREE_FRY, (4,), jnp.uint32),
            (lax.RandomAlgorithm.RNG_DEFAULT, (2, 2), jnp.uint32),
            (lax.RandomAlgorithm.RNG_DEFAULT, (4,), jnp.uint16),
            (lax.RandomAlgorithm.RNG_DEFAULT, (4,), jnp.uint8),
        )
    ],
)
differ(
    "rng_uniform",
    (s, s),
    lambda a, b: lax.rng_uniform(a, b, (3,)),
    lambda a, b: lax.rng_uniform(b, a, (3,)),
    lambda a, b: lax.rng_uniform(a, b, (4,)),
    lambda a, b: (lax.rng_uniform(a, b, (3,)), lax.rng_uniform(a, b, (3,))),
    lambda a, b: (lambda r: (r, r))(lax.rng_uniform(a, b, (3,))),
)
k = jax.random
KEY = jax.random.key(0)
KS = jax.eval_shape(lambda: jax.random.key(0))
KR = jax.eval_shape(lambda: jax.random.key(0, impl="rbg"))
KU = jax.eval_shape(lambda: jax.random.key(0, impl="unsafe_rbg"))
differ(
    "random",
    (KS,),
    lambda q: k.bits(q, (4,)),
    lambda q: k.bits(q, (4,), jnp.uint8),
    lambda q: k.bits(q, (4,), jnp.uint16),
    lambda q: k.bits(q, (2, 2)),
    lambda q: k.uniform(q, (4,)),
    lambda q: k.normal(q, (4,)),
    lambda q: k.split(q),
    lambda q: k.split(q, 3),
    lambda q: k.split(q)[::-1],
    lambda q: k.split(q)[0],
    lambda q: k.split(q)[1],
    lambda q: k.fold_in(q, 0),
    lambda q: k.fold_in(q, 1),
    lambda q: k.key_data(q),
    lambda q: k.clone(q),
    lambda q: q,
    lambda q: k.randint(q, (4,), 0, 5),
    lambda q: k.randint(q, (4,), 0, 6),
    lambda q: k.permutation(q, 4),
    lambda q: k.bernoulli(q, 0.3, (4,)),
    lambda q: k.bernoulli(q, 0.4, (4,)),
    lambda q: k.gamma(q, 0.3, (4,)),
    lambda q: k.categorical(q, jnp.zeros(4)),
    lambda q: k.categorical(q, jnp.ones(4)),
    lambda q: k.truncated_normal(q, 0, 1, (4,)),
    lambda q: k.truncated_normal(q, 0, 2, (4,)),
    lambda q: k.gumbel(q, (4,)),
    lambda q: k.gumbel(q, (4,), mode="high"),
    lambda q: k.poisson(q, 3.0, (2,)),
)
differ(
    "captured-keys",
    (X,),
    *[
        lambda x, q=q: x + k.uniform(q, (4, 4))
        for q in (k.key(0), k.key(1), k.key(0, impl="rbg"), k.key(0, impl="unsafe_rbg"))
    ],
)
differ(
    "partitionable",
    (KS,),
    With(lambda q: k.bits(q, (4,)), KS),
    With(lambda q: k.bits(q, (4,)), KS, context=lambda: jax.threefry_partitionable(False)),
)
differ(
    "default-impl",
    (),
    With(lambda n: k.uniform(k.key(n)), i),
    With(lambda n: k.uniform(k.key(n)), i, context=lambda: jax.default_prng_impl("rbg")),
)


def con(name, *arrays, n=4):
    differ(
        "constant-" + name,
        (X,),
        *[
            lambda x, c=c: (
                x,
                jnp.asarray(c)
                if not isinstance(c, np.ndarray)
                else lax.bitcast_convert_type(c, c.dtype),
            )
            for c in arrays
        ],
    )


def big(dtype, fill=1, n=40, **at):
    a = np.full((n,), fill, dtype)
    for key, v in at.items():
        a[int(key[1:])] = v
    return a


def asbits(dtype, bits):
    return np.array(bits).view(dtype)


for wrap, nm in ((jnp.asarray, "jnp"),):
    cs = lambda *a: [wrap(q) for q in a]

    def C2(name, *arrs):
        differ(
            f"const-{name}-{nm}",
            (X,),
            *[lambda x, c=c: (x, lax.optimization_barrier(c)) for c in cs(*arrs)],
        )

    u = np.arange(40, dtype=np.uint32)
    v = u.copy()
    v[-1] ^= 1
    w = u.copy()
    w[0] ^= 1 << 31
    C2(
        "bit",
        u,
        v,
        w,
        u.reshape(4, 10),
        u.reshape(10, 4),
        u.reshape(10, 4).T,
        u[::-1],
        u[:39],
        u.astype(np.int32),
        u.view(np.float32),
    )
    C2(
        "nan",
        np.array([2143289344] * 5, np.uint32).view(np.float32),
        np.array([2143289345] * 5, np.uint32).view(np.float32),
        np.array([4290772992] * 5, np.uint32).view(np.float32),
        np.array([2143289344] * 4 + [2143289345], np.uint32).view(np.float32),
    )
    C2(
        "zero",
        np.zeros(40, np.float32),
        -np.zeros(40, np.float32),
        big(np.float32, 0.0, _7=-0.0),
        np.zeros(40, np.int32),
        np.zeros(40, bool),
        np.zeros(40, np.float16),
        np.zeros(40, jnp.bfloat16),
    )
    C2(
        "complex",
        np.zeros(4, np.complex64),
        np.array([complex(0.0, -0.0)] * 4, np.complex64),
        np.array([complex(-0.0, 0.0)] * 4, np.complex64),
        np.array([complex(-0.0, -0.0)] * 4, np.complex64),
        np.array([1j] * 4, np.complex64),
        np.array([1] * 4, np.complex64),
    )
    small = [
        d
        for d in (
            jnp.float8_e4m3fn,
            jnp.float8_e5m2,
            jnp.float8_e4m3b11fnuz,
            jnp.float8_e4m3fnuz,
            jnp.float8_e5m2fnuz,
            jnp.float8_e3m4,
            jnp.float8_e4m3,
            jnp.float8_e8m0fnu,
        )
    ]
    C2(
        "f8",
        *[np.full(8, 64, np.uint8).view(d) for d in small],
        np.full(8, 64, np.uint8),
        np.full(8, 64, np.int8),
    )
    C2(
        "small",
        *[
            np.full(8, 1, np.int8).astype(d)
            for d in (jnp.int4, jnp.uint4, jnp.int2, jnp.uint2, np.int8, np.uint8, bool)
        ],
        np.full(8, 2).astype(jnp.int4),
        np.array([1] * 7 + [2]).astype(jnp.int4),
        np.array([-1] * 8).astype(jnp.int4),
        np.array([1, 2] * 4).astype(jnp.int4),
        np.array([2, 1] * 4).astype(jnp.int4),
        np.array([1] * 7).astype(jnp.int4),
        np.array([1] * 9).astype(jnp.int4),
        np.array([1] * 8).astype(np.int8).astype(jnp.float4_e2m1fn),
    )
    C2(
        "f16",
        np.full(8, 15360, np.uint16).view(np.float16),
        np.full(8, 15360, np.uint16).view(jnp.bfloat16),
        np.full(8, 15360, np.uint16),
        np.full(8, 15360, np.int16),
    )
    F = np.arange(12, dtype=np.float32)
    C2(
        "order",
        F.reshape(3, 4),
        np.asfortranarray(F.reshape(3, 4)).T,
        F.reshape(4, 3),
        np.arange(12, dtype=np.float32).reshape(3, 4, order="F"),
        F.reshape(3, 4)[::-1],
        F.reshape(3, 4)[:, ::-1],
        np.broadcast_to(F[:4], (3, 4)),
        np.broadcast_to(F[:3, None], (3, 4)),
    )
    C2(
        "splat",
        np.ones((3, 4), np.float32),
        np.ones((4, 3), np.float32),
        np.ones((12,), np.float32),
        np.full((3, 4), 2, np.float32),
        np.ones((3, 4), np.int32),
        np.ones((1, 12), np.float32),
        np.ones((3, 4, 1), np.float32),
        np.ones((), np.float32),
        np.ones((0, 4), np.float32),
        np.ones((4, 0), np.float32),
    )
    C2("empty", np.ones((0, 4), np.float32), np.ones((0, 5), np.float32), np.ones((0, 4), np.int32))
    C2(
        "bool",
        np.array([True] * 8),
        np.array([True] * 7 + [False]),
        np.array([False] + [True] * 7),
        np.array([False] * 8),
    )
    big_ = np.zeros(1 << 18, np.float32)
    big2 = big_.copy()
    big2[-1] = -0.0
    big3 = big_.copy()
    big3[1 << 17] = 1e-45
    big4 = big_.copy()
    big4[1 << 15] = 1
    C2("large", big_, big2, big3, big4)
differ(
    "literal",
    (X,),
    *[
        lambda x, c=c: x * c
        for c in (
            1.0,
            2.0,
            -0.0,
            0.0,
            float("nan"),
            -float("nan"),
            float("inf"),
            -float("inf"),
            1e-45,
            1e-40,
            np.nextafter(np.float32(1), np.float32(2)).item(),
        )
    ],
)
differ(
    "literal-dtype",
    (X,),
    *[
        lambda x, c=c: (x, lax.optimization_barrier(c))
        for c in (
            np.float32(1),
            np.int32(1),
            np.uint32(1),
            np.int8(1),
            np.bool_(True),
            1.0,
            1,
            np.float16(1),
            jnp.bfloat16(1),
            1j,
            np.complex64(1),
            jnp.int4(1),
            jnp.uint4(1),
        )
    ],
)
differ(
    "literal-nan",
    (X,),
    *[
        lambda x, c=c: lax.add(x, lax.broadcast(c, (4, 4)))
        for c in [
            np.array(b, np.uint32).view(np.float32)[()]
            for b in (2143289344, 2143289345, 4290772992, 2143363909)
        ]
    ],
)
differ(
    "literal-big-int", (I,), *[lambda x, c=c: x + c for c in (2**31 - 1, -(2**31), 0, -1, 2**30)]
)
A = np.arange(40, dtype=np.float32)
A2 = A + 1
differ(
    "which-constant",
    (S((40,), f32),),
    *[
        lambda x, p=p, q=q: x * jnp.sin(p) + x * jnp.cos(q)
        for p, q in ((A, A2), (A2, A), (A, A), (A2, A2))
    ],
    lambda x: (x * A, x * A2),
    lambda x: (x * A2, x * A),
)


def x64(f):

    def g(*a):
        with jax.enable_x64(True):
            return f(*a)

    return g


differ(
    "x64",
    (X,),
    lambda x: jnp.sum(x) * 2,
    x64(lambda x: jnp.sum(x.astype(jnp.float64)).astype(f32) * 2),
    x64(lambda x: x.astype(jnp.float64) * 2),
    lambda x: x * 2,
)
with jax.enable_x64(True):
    d1 = jnp.arange(8.0, dtype=jnp.float64)
    d2 = d1.at[3].set(np.nextafter(3.0, 4.0))
    i1 = jnp.arange(8, dtype=jnp.int64)
    i2 = i1 + 2**32
differ(
    "x64-constants",
    (s,),
    *[x64(lambda x, d=d: (x, lax.optimization_barrier(d))) for d in (d1, d2, i1, i2)],
)
