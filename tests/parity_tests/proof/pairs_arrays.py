"""Each param of each primitive of arrays."""

# ruff: noqa: B008, B023, E402, E741, TID251

from functools import partial

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
U = S((4, 4), jnp.uint32)
B = S((4, 4), bool)
C = S((4, 4), jnp.complex64)
s = S((), f32)
i = S((), jnp.int32)
T3 = S((2, 3, 4), f32)
un = [
    "abs",
    "acos",
    "acosh",
    "asin",
    "asinh",
    "atan",
    "atanh",
    "bessel_i0e",
    "bessel_i1e",
    "cbrt",
    "ceil",
    "cos",
    "cosh",
    "digamma",
    "erf",
    "erf_inv",
    "erfc",
    "exp",
    "exp2",
    "expm1",
    "floor",
    "is_finite",
    "lgamma",
    "log",
    "log1p",
    "logistic",
    "neg",
    "rsqrt",
    "sign",
    "sin",
    "sinh",
    "sqrt",
    "square",
    "tan",
    "tanh",
]
differ(
    "unary",
    (X,),
    **{u: getattr(lax, u) for u in un},
    round0=lambda x: lax.round(x, lax.RoundingMethod.AWAY_FROM_ZERO),
    round1=lambda x: lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN),
    pow3=lambda x: lax.integer_pow(x, 3),
    pow4=lambda x: lax.integer_pow(x, 4),
    powm3=lambda x: lax.integer_pow(x, -3),
    ident=lambda x: x,
    barrier=lambda x: lax.optimization_barrier(x),
)
differ(
    "unary-int", (I,), lax.clz, lax.population_count, lax.bitwise_not, lax.neg, lax.sign, lax.abs
)
for op in ("sin", "exp2", "rsqrt"):
    g = getattr(lax, op)
    differ(
        "accuracy-" + op,
        (X,),
        g,
        lambda x, g=g: g(x, accuracy=lax.AccuracyMode.HIGHEST),
        lambda x, g=g: g(x, accuracy=lax.Tolerance(1e-05, 0.0, 2)),
    )
bi = [
    "add",
    "sub",
    "mul",
    "div",
    "rem",
    "pow",
    "max",
    "min",
    "atan2",
    "nextafter",
    "eq",
    "ne",
    "lt",
    "le",
    "gt",
    "ge",
    "igamma",
    "igammac",
    "zeta",
    "igamma_grad_a",
    "random_gamma_grad",
    "polygamma",
]
differ(
    "binary",
    (X, X),
    **{b: getattr(lax, b) for b in bi},
    subr=lambda x, y: lax.sub(y, x),
    divr=lambda x, y: lax.div(y, x),
    powr=lambda x, y: lax.pow(y, x),
    remr=lambda x, y: lax.rem(y, x),
    atan2r=lambda x, y: lax.atan2(y, x),
    nextr=lambda x, y: lax.nextafter(y, x),
    subxx=lambda x, y: lax.sub(x, x),
    subyy=lambda x, y: lax.sub(y, y),
    first=lambda x, y: x,
    second=lambda x, y: y,
    complex=lax.complex,
    complexr=lambda x, y: lax.complex(y, x),
    both=lambda x, y: (x, y),
    swapped=lambda x, y: (y, x),
    twice=lambda x, y: (x, x),
)
differ(
    "binary-int",
    (I, I),
    *[
        getattr(lax, b)
        for b in [
            "add",
            "sub",
            "mul",
            "div",
            "rem",
            "max",
            "min",
            "shift_left",
            "shift_right_arithmetic",
            "shift_right_logical",
            "bitwise_and",
            "bitwise_or",
            "bitwise_xor",
            "mulhi",
            "eq",
            "lt",
        ]
    ],
    lambda x, y: lax.shift_left(y, x),
    lambda x, y: lax.div(y, x),
)
differ(
    "total-order",
    (X, X),
    lambda x, y: lax.lt_p.bind(x, y),
    lambda x, y: lax.lt_to_p.bind(x, y),
    lambda x, y: lax.le_to_p.bind(x, y),
    lambda x, y: lax.eq_to_p.bind(x, y),
)
differ(
    "betainc",
    (X, X, X),
    lambda a, b, x: lax.betainc(a, b, x),
    lambda a, b, x: lax.betainc(b, a, x),
    lambda a, b, x: lax.betainc(a, x, b),
)
differ(
    "clamp",
    (X, X, X),
    lambda a, b, x: lax.clamp(a, b, x),
    lambda a, b, x: lax.clamp(b, a, x),
    lambda a, b, x: lax.clamp(a, x, b),
)
differ(
    "select",
    (B, X, X),
    lambda p, x, y: lax.select(p, x, y),
    lambda p, x, y: lax.select(p, y, x),
    lambda p, x, y: lax.select(p, x, x),
    lambda p, x, y: lax.select(~p, x, y),
)
differ(
    "select_n",
    (S((4, 4), jnp.int32), X, X, X),
    lambda p, x, y, z: lax.select_n(p, x, y, z),
    lambda p, x, y, z: lax.select_n(p, x, z, y),
    lambda p, x, y, z: lax.select_n(p, y, x, z),
)
differ(
    "complex", (C,), lax.real, lax.imag, lax.conj, lax.abs, lax.neg, lax.sign, lambda z: lax.exp(z)
)
dts = [
    jnp.float16,
    jnp.bfloat16,
    jnp.int32,
    jnp.int16,
    jnp.int8,
    jnp.uint8,
    jnp.uint32,
    jnp.int4,
    jnp.uint4,
    jnp.int2,
    jnp.uint2,
    jnp.bool_,
    jnp.complex64,
    jnp.float8_e4m3fn,
    jnp.float8_e5m2,
    jnp.float8_e4m3b11fnuz,
    jnp.float8_e4m3fnuz,
    jnp.float8_e5m2fnuz,
    jnp.float8_e3m4,
    jnp.float8_e4m3,
    jnp.float8_e8m0fnu,
    jnp.float4_e2m1fn,
]
differ("convert", (X,), *[partial(lax.convert_element_type, new_dtype=d) for d in dts], lambda x: x)
differ(
    "convert-inner",
    (X,),
    *[
        lambda x, d=d: lax.convert_element_type(x, d).astype(f32)
        for d in dts
        if d not in (jnp.complex64,)
    ],
)
differ(
    "argument-dtype",
    (X,),
    *[
        With(lambda x: lax.convert_element_type(x, f32), S((4, 4), d))
        for d in dts
        if d != jnp.complex64
    ],
    With(lambda x: x, X),
)
differ(
    "bitcast",
    (U,),
    *[
        partial(lax.bitcast_convert_type, new_dtype=d)
        for d in (
            jnp.float32,
            jnp.int32,
            jnp.int16,
            jnp.uint16,
            jnp.float16,
            jnp.bfloat16,
            jnp.uint8,
            jnp.int8,
        )
    ],
)
differ(
    "bitcast-or-convert",
    (U,),
    lambda x: lax.bitcast_convert_type(x, f32),
    lambda x: lax.convert_element_type(x, f32),
)
from jax._src.lax.lax import _convert_element_type as cet

differ(
    "weak",
    (X,),
    lambda x: cet(x, np.dtype("float32"), weak_type=False),
    lambda x: cet(x, np.dtype("float32"), weak_type=True),
)
differ(
    "weak-deep",
    (X,),
    lambda x: jnp.float32(1.5) + x.astype(jnp.float16),
    lambda x: 1.5 + x.astype(jnp.float16),
)
differ(
    "reduce_precision",
    (X,),
    *[
        lambda x, a=a, b=b: lax.reduce_precision(x, a, b)
        for a, b in ((5, 10), (8, 7), (10, 5), (7, 8), (8, 23))
    ],
)
differ(
    "reshape",
    (X,),
    lambda x: lax.reshape(x, (16,)),
    lambda x: lax.reshape(x, (2, 8)),
    lambda x: lax.reshape(x, (8, 2)),
    lambda x: lax.reshape(x, (16,), dimensions=(1, 0)),
    lambda x: lax.reshape(x, (2, 8), dimensions=(1, 0)),
    lambda x: lax.reshape(x, (1, 16)),
    lambda x: lax.reshape(x, (16, 1)),
)
differ(
    "transpose",
    (S((3, 3, 3), f32),),
    *[
        lambda x, p=p: lax.transpose(x, p)
        for p in ((0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0))
    ],
)
differ("rev", (S((3, 3), f32),), *[lambda x, p=p: lax.rev(x, p) for p in ((0,), (1,), (0, 1), ())])
differ(
    "slice",
    (X,),
    lambda x: lax.slice(x, (0, 0), (2, 2)),
    lambda x: lax.slice(x, (1, 0), (3, 2)),
    lambda x: lax.slice(x, (0, 1), (2, 3)),
    lambda x: lax.slice(x, (0, 0), (4, 2), (2, 1)),
    lambda x: lax.slice(x, (0, 0), (4, 4), (2, 2)),
    lambda x: lax.slice(x, (0, 0), (3, 4), (2, 2)),
    lambda x: lax.slice(x, (0, 0), (2, 4), (1, 2)),
    lambda x: lax.slice(x, (0, 0), (4, 4), (3, 2)),
)
differ(
    "pad",
    (X, s),
    *[
        lambda x, v, c=c: lax.pad(x, v, c)
        for c in (
            ((1, 1, 0), (0, 0, 0)),
            ((0, 2, 0), (0, 0, 0)),
            ((2, 0, 0), (0, 0, 0)),
            ((0, 0, 0), (1, 1, 0)),
            ((0, 0, 1), (0, 0, 0)),
            ((-1, 0, 1), (0, 0, 0)),
            ((0, -1, 1), (0, 0, 0)),
            ((-1, 1, 0), (0, 0, 0)),
            ((1, -1, 0), (0, 0, 0)),
        )
    ],
    lambda x, v: lax.pad(x, -v, ((1, 1, 0), (0, 0, 0))),
    lambda x, v: lax.pad(x, jnp.float32(0), ((1, 1, 0), (0, 0, 0))),
    lambda x, v: lax.pad(x, jnp.float32(-0.0), ((1, 1, 0), (0, 0, 0))),
    lambda x, v: lax.pad(x, jnp.float32(1), ((1, 1, 0), (0, 0, 0))),
)
differ(
    "concat",
    (X, X),
    lambda x, y: lax.concatenate((x, y), 0),
    lambda x, y: lax.concatenate((x, y), 1),
    lambda x, y: lax.concatenate((y, x), 0),
    lambda x, y: lax.concatenate((x, x), 0),
    lambda x, y: lax.concatenate((x, y, x), 0),
    lambda x, y: lax.concatenate((x, x, y), 0),
    lambda x, y: lax.concatenate((x,), 0),
    lambda x, y: lax.concatenate((x[:1], x[1:], y), 0),
    lambda x, y: lax.concatenate((x[:2], x[1:], y), 0),
)
differ(
    "broadcast",
    (V,),
    *[
        lambda x, sh=sh, d=d: lax.broadcast_in_dim(x, sh, d)
        for sh, d in (
            ((4, 4), (0,)),
            ((4, 4), (1,)),
            ((4, 4, 1), (0,)),
            ((4, 4, 1), (1,)),
            ((4, 1), (0,)),
            ((1, 4), (1,)),
            ((4, 4, 4), (0,)),
            ((4, 4, 4), (1,)),
            ((4, 4, 4), (2,)),
        )
    ],
)
differ(
    "broadcast-one",
    (S((1, 4), f32),),
    lambda x: lax.broadcast_in_dim(x, (4, 4), (0, 1)),
    lambda x: lax.broadcast_in_dim(x[0], (4, 4), (0,)),
)
differ(
    "iota",
    (i,),
    *[
        lambda k, a=a: lax.broadcasted_iota(*a) + k.astype(a[0])
        for a in (
            (jnp.int32, (4, 4), 0),
            (jnp.int32, (4, 4), 1),
            (jnp.int16, (4, 4), 0),
            (jnp.uint32, (4, 4), 0),
            (f32, (4, 4), 0),
            (f32, (4, 4), 1),
            (jnp.bfloat16, (4, 4), 0),
            (jnp.int32, (4, 5), 0),
        )
    ],
)
differ(
    "squeeze",
    (S((1, 4, 1), f32),),
    lambda x: lax.squeeze(x, (0,)),
    lambda x: lax.squeeze(x, (2,)),
    lambda x: lax.squeeze(x, (0, 2)),
)
differ(
    "split",
    (X,),
    lambda x: lax.split(x, (1, 3)),
    lambda x: lax.split(x, (3, 1)),
    lambda x: lax.split(x, (1, 3), axis=1),
    lambda x: lax.split(x, (1, 1, 2)),
    lambda x: tuple(reversed(lax.split(x, (2, 2)))),
    lambda x: lax.split(x, (2, 2)),
    lambda x: lax.split(x, (1, 3))[0],
    lambda x: lax.split(x, (3, 1))[1],
)
differ(
    "tile",
    (X,),
    lambda x: lax.tile(x, (2, 1)),
    lambda x: lax.tile(x, (1, 2)),
    lambda x: lax.tile(x, (3, 1)),
    lambda x: jnp.repeat(x, 2, axis=0),
    lambda x: jnp.repeat(x, 2, axis=1),
)
differ(
    "sort",
    (X, X),
    lambda x, y: lax.sort((x, y), num_keys=1),
    lambda x, y: lax.sort((x, y), num_keys=2),
    lambda x, y: lax.sort((x, y), num_keys=1, is_stable=False),
    lambda x, y: lax.sort((x, y), num_keys=1, dimension=0),
    lambda x, y: lax.sort((y, x), num_keys=1),
    lambda x, y: lax.sort((x, y), num_keys=1)[::-1],
    lambda x, y: lax.sort((x, x), num_keys=1),
)
differ(
    "sort-one",
    (X,),
    lambda x: lax.sort(x),
    lambda x: lax.sort(x, is_stable=False),
    lambda x: lax.sort(x, dimension=0),
    lambda x: -lax.sort(-x),
)
differ(
    "top_k",
    (X,),
    lambda x: lax.top_k(x, 1),
    lambda x: lax.top_k(x, 2),
    lambda x: lax.top_k(x, 2, axis=0),
    lambda x: lax.top_k(x, 2)[0],
    lambda x: lax.top_k(x, 2)[1],
    lambda x: lax.top_k(x, 2)[::-1],
)
differ(
    "arg",
    (X,),
    *[
        lambda x, f=f, a=a, d=d: f(x, a, d)
        for f, a, d in (
            (lax.argmax, 0, jnp.int32),
            (lax.argmax, 1, jnp.int32),
            (lax.argmin, 0, jnp.int32),
            (lax.argmin, 1, jnp.int32),
            (lax.argmax, 0, jnp.uint32),
            (lax.argmax, 0, jnp.int16),
        )
    ],
)
differ(
    "cum",
    (X,),
    *[
        lambda x, f=f, a=a, r=r: f(x, axis=a, reverse=r)
        for f in (lax.cumsum, lax.cumprod, lax.cummax, lax.cummin, lax.cumlogsumexp)
        for a in (0, 1)
        for r in (False, True)
    ],
)
differ(
    "reduce",
    (X,),
    *[
        lambda x, f=f, a=a: f(x, axis=a)
        for f in (jnp.sum, jnp.prod, jnp.max, jnp.min)
        for a in (0, 1, (0, 1))
    ],
)
differ(
    "reduce-bool",
    (B,),
    lambda x: jnp.all(x, 0),
    lambda x: jnp.any(x, 0),
    lambda x: jnp.all(x, 1),
    lambda x: jnp.logical_xor.reduce(x, axis=0),
)
differ(
    "reduce-int",
    (I,),
    *[
        lambda x, f=f: lax.reduce(x, np.int32(k), f, (0,))
        for f in (lax.add, lax.bitwise_and, lax.bitwise_or, lax.bitwise_xor, lax.max)
        for k in (0,)
    ],
    lambda x: lax.reduce(x, np.int32(1), lax.add, (0,)),
    lambda x: lax.reduce(x, np.int32(0), lambda a, b: a - b, (0,)),
    lambda x: lax.reduce(x, np.int32(0), lambda a, b: b - a, (0,)),
    lambda x: lax.reduce(x, np.int32(0), lambda a, b: a + b * 2, (0,)),
    lambda x: lax.reduce(x, np.int32(0), lambda a, b: a + b * 3, (0,)),
)
differ(
    "reduce-two",
    (X, X),
    lambda x, y: lax.reduce(
        (x, y), (np.float32(0), np.float32(1)), lambda a, b: (a[0] + b[0], a[1] * b[1]), (0,)
    ),
    lambda x, y: lax.reduce(
        (y, x), (np.float32(0), np.float32(1)), lambda a, b: (a[0] + b[0], a[1] * b[1]), (0,)
    ),
    lambda x, y: lax.reduce(
        (x, y), (np.float32(1), np.float32(0)), lambda a, b: (a[0] + b[0], a[1] * b[1]), (0,)
    ),
    lambda x, y: lax.reduce(
        (x, y), (np.float32(0), np.float32(1)), lambda a, b: (a[0] + b[1], a[1] * b[0]), (0,)
    ),
    lambda x, y: lax.reduce(
        (x, y), (np.float32(0), np.float32(1)), lambda a, b: (a[0] * b[0], a[1] + b[1]), (0,)
    ),
)
rw = dict(window_dimensions=(2, 2), window_strides=(1, 1), padding=((0, 0), (0, 0)))


def W(init, op, **kw):
    return lambda x: lax.reduce_window(x, np.float32(init), op, **{**rw, **kw})


differ(
    "reduce_window",
    (X,),
    W(0, lax.add),
    W(-np.inf, lax.max),
    W(np.inf, lax.min),
    W(1, lax.mul),
    W(1, lax.add),
    W(0, lambda a, b: a - b),
    W(0, lax.add, window_dimensions=(2, 1)),
    W(0, lax.add, window_dimensions=(1, 2)),
    W(0, lax.add, window_strides=(2, 1)),
    W(0, lax.add, window_strides=(1, 2)),
    W(0, lax.add, padding=((1, 0), (0, 0))),
    W(0, lax.add, padding=((0, 1), (0, 0))),
    W(0, lax.add, padding=((0, 0), (1, 0))),
    W(0, lax.add, base_dilation=(2, 1)),
    W(0, lax.add, base_dilation=(1, 2)),
    W(0, lax.add, window_dilation=(2, 1)),
    W(0, lax.add, window_dilation=(1, 2)),
    W(-np.inf, lax.max, window_strides=(2, 1)),
    W(-np.inf, lax.max, padding=((1, 0), (0, 0))),
    W(-np.inf, lax.max, base_dilation=(2, 1)),
    W(-np.inf, lax.max, window_dilation=(2, 1)),
)
from jax._src.lax import windowed_reductions as wr


def SS(sel, op, **kw):
    a = {**dict(window_dimensions=(2, 2), window_strides=(2, 2), padding=((0, 0), (0, 0))), **kw}
    return lambda x, y: wr._select_and_scatter_add(
        y, x, sel, a["window_dimensions"], a["window_strides"], a["padding"]
    )


gd = lax.GatherDimensionNumbers
GI = S((3, 1), jnp.int32)


def G(dn=gd((1,), (0,), (0,)), sz=(1, 4), **kw):
    return lambda x, k: lax.gather(x, k, dn, sz, **kw)


differ(
    "gather",
    (X, GI),
    G(mode="clip"),
    G(mode="fill"),
    G(mode="promise_in_bounds"),
    G(mode="fill", fill_value=1.0),
    G(mode="fill", fill_value=-0.0),
    G(mode="fill", fill_value=0.0),
    G(mode="clip", indices_are_sorted=True),
    G(mode="clip", unique_indices=True),
    G(gd((1,), (0,), (1,)), (1, 4), mode="clip"),
    G(gd((1,), (1,), (1,)), (4, 1), mode="clip"),
    G(gd((0,), (0,), (0,)), (1, 4), mode="clip"),
    G(sz=(1, 3), mode="clip"),
    G(sz=(1, 2), mode="clip"),
)
differ(
    "gather-batch",
    (S((3, 4), f32), S((3, 2, 1), jnp.int32)),
    G(gd((), (1,), (1,), (0,), (0,)), (1, 1), mode="clip"),
    G(gd((), (1,), (1,), (0,), (0,)), (1, 1), mode="fill"),
)
sd = lax.ScatterDimensionNumbers
SI = S((3, 1), jnp.int32)
SU = S((3, 4), f32)


def SC(f=lax.scatter_add, dn=sd((1,), (0,), (0,)), **kw):
    return lambda x, k, u: f(x, k, u, dn, **kw)


differ(
    "scatter",
    (X, SI, SU),
    SC(),
    SC(lax.scatter),
    SC(lax.scatter_mul),
    SC(lax.scatter_min),
    SC(lax.scatter_max),
    SC(lax.scatter_sub),
    SC(mode="clip"),
    SC(mode="promise_in_bounds"),
    SC(mode="fill", unique_indices=True),
    SC(indices_are_sorted=True),
    SC(dn=sd((1,), (0,), (1,))),
    SC(dn=sd((1,), (1,), (1,))),
    SC(lax.scatter, mode="clip"),
    SC(lax.scatter, indices_are_sorted=True),
    SC(lax.scatter, unique_indices=True),
)
differ(
    "scatter_apply",
    (X, SI),
    *[
        lambda x, k, f=f: lax.scatter_apply(
            x, k, f, sd((1,), (0,), (0,)), update_shape=(3, 4), unique_indices=True
        )
        for f in (jnp.sin, jnp.cos, lambda v: v * 2, lambda v: v * 3)
    ],
)
differ(
    "at",
    (X, i),
    *[
        lambda x, k, f=f: f(x, k)
        for f in (
            lambda x, k: x.at[k].set(1.0),
            lambda x, k: x.at[k].add(1.0),
            lambda x, k: x.at[:, k].set(1.0),
            lambda x, k: x.at[k].set(2.0),
            lambda x, k: x.at[k].get(mode="fill"),
            lambda x, k: x.at[k].get(mode="clip"),
            lambda x, k: x.at[k].get(mode="fill", fill_value=3),
            lambda x, k: x[k],
            lambda x, k: x.at[k].set(1.0, mode="drop"),
            lambda x, k: x.at[k].set(1.0, mode="clip"),
            lambda x, k: x.at[k].set(1.0, wrap_negative_indices=False),
        )
    ][:7],
)
differ(
    "dynamic_slice",
    (X, i, i),
    lambda x, a, b: lax.dynamic_slice(x, (a, b), (2, 2)),
    lambda x, a, b: lax.dynamic_slice(x, (b, a), (2, 2)),
    lambda x, a, b: lax.dynamic_slice(x, (a, a), (2, 2)),
    lambda x, a, b: lax.dynamic_slice(x, (a, b), (2, 3)),
    lambda x, a, b: lax.dynamic_slice(x, (a, b), (3, 2)),
    lambda x, a, b: lax.dynamic_slice(x, (a, 0), (2, 2)),
    lambda x, a, b: lax.dynamic_slice(x, (0, a), (2, 2)),
    lambda x, a, b: lax.dynamic_slice(x, (a, 1), (2, 2)),
    lambda x, a, b: lax.dynamic_slice(x, (a, b), (2, 2), allow_negative_indices=False),
)
differ(
    "dynamic_update",
    (X, S((2, 2), f32), i, i),
    lambda x, u, a, b: lax.dynamic_update_slice(x, u, (a, b)),
    lambda x, u, a, b: lax.dynamic_update_slice(x, u, (b, a)),
    lambda x, u, a, b: lax.dynamic_update_slice(x, -u, (a, b)),
    lambda x, u, a, b: lax.dynamic_update_slice(x, u.T, (a, b)),
    lambda x, u, a, b: lax.dynamic_update_slice(x, u, (a, 0)),
    lambda x, u, a, b: lax.dynamic_update_slice(x, u, (0, a)),
)
P = lax.Precision


def D(dn=(((1,), (0,)), ((), ())), **kw):
    return lambda x, y: lax.dot_general(x, y, dn, **kw)


pres = [P.DEFAULT, P.HIGH, P.HIGHEST, (P.DEFAULT, P.HIGHEST), (P.HIGHEST, P.DEFAULT)]
DA = lax.DotAlgorithm
PR = lax.DotAlgorithmPreset
differ(
    "dot",
    (X, X),
    D(),
    *[D(precision=p) for p in pres[1:]],
    D((((0,), (0,)), ((), ()))),
    D((((1,), (1,)), ((), ()))),
    D((((0,), (1,)), ((), ()))),
    D((((), ()), ((), ()))),
    D((((0, 1), (0, 1)), ((), ()))),
    D((((0, 1), (1, 0)), ((), ()))),
    D((((1,), (1,)), ((0,), (0,)))),
    D((((1,), (0,)), ((0,), (1,)))),
    D((((), ()), ((0,), (0,)))),
    D((((), ()), ((0, 1), (0, 1)))),
    D((((), ()), ((0, 1), (1, 0)))),
    lambda x, y: D()(y, x),
)
differ(
    "dot-algorithm",
    (X, X),
    D(),
    *[
        D(precision=p)
        for p in (
            PR.F32_F32_F32,
            PR.TF32_TF32_F32,
            PR.TF32_TF32_F32_X3,
            PR.BF16_BF16_F32,
            PR.BF16_BF16_F32_X3,
            PR.BF16_BF16_F32_X6,
            PR.BF16_BF16_F32_X9,
            PR.F16_F16_F16,
            PR.F16_F16_F32,
        )
    ],
    *[
        D(precision=DA(*a))
        for a in (
            (jnp.bfloat16, jnp.bfloat16, f32, 1, 1, 3, True),
            (jnp.bfloat16, jnp.bfloat16, f32, 1, 1, 4, False),
            (jnp.bfloat16, jnp.bfloat16, f32, 1, 1, 4, True),
        )
    ],
)
H = S((4, 4), jnp.bfloat16)
differ(
    "dot-preferred",
    (H, H),
    D(),
    D(preferred_element_type=f32),
    lambda x, y: D()(x, y).astype(f32),
    lambda x, y: D()(x.astype(f32), y.astype(f32)),
)
differ(
    "matmul-context",
    (X, X),
    lambda x, y: x @ y,
    *[lambda x, y, c=c: _ctx(c, x, y) for c in ("tensorfloat32", "float32", "BF16_BF16_F32_X3")],
)


def _ctx(c, x, y):
    with jax.default_matmul_precision(c):
        return x @ y


differ(
    "ragged_dot",
    (S((4, 4), f32), S((3, 4, 2), f32), S((3,), jnp.int32)),
    lambda x, y, g: lax.ragged_dot(x, y, g),
    lambda x, y, g: lax.ragged_dot(x, y, g, precision=P.HIGHEST),
    lambda x, y, g: lax.ragged_dot(x, y, g[::-1]),
    lambda x, y, g: lax.ragged_dot(x, y[::-1], g),
)


def CV(**kw):
    a = {**dict(window_strides=(1, 1), padding=((0, 0), (0, 0))), **kw}
    return lambda x, k: lax.conv_general_dilated(x, k, **a)


CX = S((4, 4, 6, 6), f32)
CK = S((4, 4, 3, 3), f32)
differ(
    "conv",
    (CX, CK),
    CV(),
    CV(window_strides=(2, 1)),
    CV(window_strides=(1, 2)),
    CV(padding=((1, 0), (0, 0))),
    CV(padding=((0, 1), (0, 0))),
    CV(padding=((0, 0), (1, 0))),
    CV(padding=((1, -1), (0, 0))),
    CV(padding=((-1, 1), (0, 0))),
    CV(lhs_dilation=(2, 1)),
    CV(lhs_dilation=(1, 2)),
    CV(rhs_dilation=(2, 1)),
    CV(rhs_dilation=(1, 2)),
    CV(precision=P.HIGHEST),
    CV(precision=(P.HIGHEST, P.DEFAULT)),
    CV(precision=(P.DEFAULT, P.HIGHEST)),
    CV(dimension_numbers=("NCHW", "IOHW", "NCHW")),
    CV(dimension_numbers=("CNHW", "OIHW", "NCHW")),
    CV(dimension_numbers=("NCHW", "OIHW", "CNHW")),
    CV(dimension_numbers=("NCWH", "OIHW", "NCHW")),
    CV(dimension_numbers=("NCHW", "OIWH", "NCHW")),
    CV(dimension_numbers=("NCHW", "OIHW", "NCWH")),
)
differ(
    "conv-groups",
    (S((4, 4, 6, 6), f32), S((4, 2, 3, 3), f32)),
    CV(feature_group_count=2),
    lambda x, k: CV(feature_group_count=2)(x[::-1], k),
)
differ(
    "conv-batch-groups",
    (S((4, 4, 6, 6), f32), S((4, 2, 3, 3), f32)),
    With(CV(feature_group_count=2), S((4, 4, 6, 6), f32), S((4, 2, 3, 3), f32)),
    With(CV(batch_group_count=2), S((4, 2, 6, 6), f32), S((4, 2, 3, 3), f32)),
    With(CV(), S((4, 2, 6, 6), f32), S((4, 2, 3, 3), f32)),
)
differ(
    "conv-preferred",
    (S((4, 4, 6, 6), jnp.bfloat16), S((4, 4, 3, 3), jnp.bfloat16)),
    CV(),
    CV(preferred_element_type=f32),
)
FX = S((4, 8), jnp.complex64)
F = lax.FftType
differ(
    "fft",
    (FX,),
    lambda x: lax.fft(x, F.FFT, (8,)),
    lambda x: lax.fft(x, F.IFFT, (8,)),
    lambda x: lax.fft(x, F.FFT, (4, 8)),
    lambda x: lax.fft(x, F.IFFT, (4, 8)),
    lambda x: lax.fft(x, F.IRFFT, (14,)),
    lambda x: lax.fft(x, F.IRFFT, (15,)),
)
