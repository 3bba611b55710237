"""Value numbering of jaxprs: programs that differ in one thing, and programs that are equal."""

import enum
import gc
import os
import subprocess
import sys
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hijax_primitives import Expanding, paired
from jax import lax
from jax.experimental import io_callback
from jax.experimental import pallas as pl
from jax.extend import core
from jax.interpreters import mlir
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P

from parity_tests.jaxpr.bodies import is_body
from parity_tests.jaxpr.captured_uses import captured_uses
from parity_tests.proof.encodings import digest_of_type
from parity_tests.proof.jaxprs import number_jaxpr
from parity_tests.proof.numbers import UndecidedError
from parity_tests.proof.rules import LEFT_OUT

X = jnp.arange(1.0, 5.0)
M = jnp.arange(1.0, 17.0).reshape(4, 4)
C = np.arange(4.0, dtype=np.float32)
MESH = jax.make_mesh((2,), ("i",), axis_types=(jax.sharding.AxisType.Auto,))


def digest(fun, *args, **options):
    return number_jaxpr(jax.jit(fun, **options).trace(*args).jaxpr).digest


# -- one param -------------------------------------------------------------------------------------

TABLE = [
    (lambda x: lax.reduce_precision(x, 5, 10), (X,)),
    (lambda x: lax.integer_pow(x, 3), (X,)),
    (lambda x: lax.convert_element_type(x, jnp.int32), (X,)),
    (lambda x: lax.bitcast_convert_type(x, jnp.int32), (X,)),
    (lambda x: lax.broadcast_in_dim(x, (2, 4), (1,)), (X,)),
    (lambda x: lax.reshape(x, (2, 2)), (X,)),
    (lambda x: lax.squeeze(x[None], (0,)), (X,)),
    (lambda m: lax.transpose(m, (1, 0)), (M,)),
    (lambda m: lax.rev(m, (0,)), (M,)),
    (lambda m: lax.slice(m, (0, 1), (4, 3), (2, 1)), (M,)),
    (lambda m: lax.dynamic_slice(m, (1, 1), (2, 2)), (M,)),
    (lambda m: lax.pad(m, 0.0, ((1, 0, 0), (0, 1, 1))), (M,)),
    (lambda m: lax.concatenate([m, m], 0), (M,)),
    (lambda m: lax.reduce_sum_p.bind(m, axes=(0,), out_sharding=None), (M,)),
    (lambda m: jnp.max(m, axis=0), (M,)),
    (lambda m: lax.argmax(m, 0, jnp.int32), (M,)),
    (lambda m: lax.cumsum(m, axis=0), (M,)),
    (lambda m: lax.sort([m, m], num_keys=1), (M,)),
    (lambda m: lax.top_k(m, 2), (M,)),
    (lambda: lax.iota(jnp.float32, 4), ()),
    (lambda m: lax.dot_general(m, m, (((1,), (0,)), ((), ())), lax.Precision.HIGH), (M,)),
    (lambda m: lax.conv(m[None, None], m[None, None], (1, 1), "SAME"), (M,)),
    (lambda m: lax.reduce_window(m, 0.0, lax.add, (2, 2), (1, 1), "SAME"), (M,)),
    (lambda m: lax.reduce_window(m, -np.inf, lax.max, (2, 2), (1, 1), "SAME"), (M,)),
    (lambda m: lax.reduce(m, 1.0, lambda a, b: a * b + a, (0,)), (M,)),
    (lambda m: m[np.array([0, 2])], (M,)),
    (lambda m: m.at[np.array([0, 2])].add(1.0), (M,)),
    (lambda m: m.at[np.array([0, 2])].set(1.0), (M,)),
    (lambda x: lax.fft.__wrapped__(lax.complex(x, x), "FFT", (4,)), (X,)),
    (lambda m: lax.linalg.cholesky(m @ m.T), (M,)),
    (lambda m: lax.linalg.triangular_solve(m, m, left_side=True), (M,)),
    (lambda m: lax.linalg.qr(m), (M,)),
    (lambda m: lax.linalg.svd(m), (M,)),
    (lambda m: lax.linalg.lu(m), (M,)),
    (lambda k: jax.random.bits(k, (3,)), (jax.random.key(0),)),
    (lambda: jax.random.key_data(jax.random.key(1)), ()),
    (lambda x: lax.exp(x, accuracy=lax.AccuracyMode.HIGHEST), (X,)),
    (lambda x: lax.scan(lambda c, y: (c + y, c * y), x[0], x, reverse=True, unroll=2), (X,)),
    (lambda x: jax.checkpoint(jnp.sin)(x), (X,)),
    (lambda x: jax.pure_callback(np.sin, x, x, vmap_method="sequential"), (X,)),
    (lambda x: lax.optimization_barrier(x), (X,)),
    (lambda x: jax.device_put(x, jax.devices()[1]), (X,)),
    (lambda x: lax.with_sharding_constraint(x, NamedSharding(MESH, P("i"))), (X,)),
    (
        jax.shard_map(lambda x: lax.psum(x, "i"), mesh=MESH, in_specs=P("i"), out_specs=P()),
        (X,),
    ),
    (lambda x: lax.composite(lambda x: x + 1, "my.composite", version=1)(x), (X,)),
    (lambda x: lax.platform_dependent(x, cpu=jnp.sin, default=jnp.cos), (X,)),
    (lambda x: lax.approx_max_k(x, 2), (X,)),
]


class _Unheard:
    """A value of a type that no rule can know."""


def _others(value):
    """Values that a param could have in the place of this one, and must not be taken for it."""
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, enum.Enum):
        return [each for each in type(value) if each is not value][:1]
    if isinstance(value, int):
        return [value + 1]
    if isinstance(value, float):
        return [np.nextafter(value, 9.0)]
    if isinstance(value, str):
        return [value + "'"]
    if isinstance(value, np.dtype):
        return [np.dtype(np.int16)]
    if type(value) is tuple and value:
        return [value[:-1], *((*value[:-1], each) for each in _others(value[-1]))]
    if type(value) is tuple:
        return [(1,)]
    if isinstance(value, tuple):
        return [
            value._replace(**{name: other})
            for name in value._fields
            for other in _others(getattr(value, name))
        ]
    return [_Unheard()]


def _with_param(closed, equation, name, value):
    """The program with another value of one param of an equation."""
    other = equation.replace(params={**equation.params, name: value})
    jaxpr = closed.jaxpr
    equations = [other if each is equation else each for each in jaxpr.eqns]
    return closed.replace(jaxpr=jaxpr.replace(eqns=equations, debug_info=jaxpr.debug_info))


def _number_or_reason(closed):
    try:
        return number_jaxpr(closed).digest
    except UndecidedError as error:
        return str(error)


@pytest.mark.parametrize(("fun", "args"), TABLE)
def test_another_value_of_a_param_is_another_program(fun, args):
    closed = jax.jit(fun).trace(*args).jaxpr
    before = number_jaxpr(closed).digest
    tried = 0
    for equation in closed.jaxpr.eqns:
        left_out = LEFT_OUT.get(equation.primitive.name, ())
        for name, value in equation.params.items():
            if name in left_out or equation.primitive.name == "jit" or is_body(value):
                continue
            for other in _others(value):
                changed = _with_param(closed, equation, name, other)
                assert _number_or_reason(changed) != before, (equation.primitive.name, name, other)
                tried += 1
    assert tried or all(not each.params for each in closed.jaxpr.eqns)


# -- one other thing -------------------------------------------------------------------------------


def with_bits(bits):
    """A captured NaN with these bits."""
    captured = np.array([bits, 0], np.uint32).view(np.float32)
    return lambda x: x[:2] * captured


def swapped(x, y):
    return lax.fori_loop(0, 3, lambda i, c: (c[1], c[0] + 1.0), (x, y))


def not_swapped(x, y):
    return lax.fori_loop(0, 3, lambda i, c: (c[0], c[1] + 1.0), (x, y))


def nested_loops(inner_start):
    """A loop in a loop; the inner one begins with what the outer one carries, or with its start."""

    def body(i, c):
        return c + lax.fori_loop(0, 3, lambda j, d: d + c, inner_start(c))

    return lambda x: lax.fori_loop(0, 3, body, x * 0.0)


def ordered(*texts):
    def fun(x):
        for text in texts:
            jax.debug.print(text + " {}", x, ordered=True)
        return x

    return fun


def callback_of(scale):
    return lambda x: jax.pure_callback(lambda y: np.asarray(y) * scale, x, x)


def jit_with(**options):
    return lambda x: jax.jit(lambda y: y * 2.0, **options)(x) + 1.0


def exported(spec):
    jitted = jax.jit(jnp.sin, in_shardings=NamedSharding(MESH, spec))
    return jax.export.deserialize(jax.export.export(jitted)(X).serialize()).call


PAIRS = {
    "operands": (lambda x: x - C, lambda x: C - x),
    "dtype of a constant": (lambda x: x * C, lambda x: x * C.astype(np.float16)),
    "shape of a constant": (lambda x: x * C, lambda x: x * C[None]),
    "one bit of a constant": (with_bits(0x3F800000), with_bits(0x3F800001)),
    "payload of a NaN": (with_bits(0x7FC00000), with_bits(0x7FC00001)),
    "sign of zero": (with_bits(0), with_bits(0x80000000)),
    "sign of a scalar zero": (lambda x: x * 0.0, lambda x: x * -0.0),
    "weak type": (lambda x: jnp.asarray(2.0), lambda x: jnp.asarray(2.0, jnp.float32)),
    "keys": (
        lambda x: jax.random.normal(jax.random.key(0), (2,)),
        lambda x: jax.random.normal(jax.random.key(1), (2,)),
    ),
    "implementation of keys": (
        lambda x: jax.random.bits(jax.random.key(0, impl="rbg")),
        lambda x: jax.random.bits(jax.random.key(0, impl="unsafe_rbg")),
    ),
    "outputs": (lambda x: (x, x + 1), lambda x: (x + 1, x)),
    "times that an output is given": (lambda x: x, lambda x: (x, x)),
    "order of effects": (ordered("one", "two"), ordered("two", "one")),
    "an effect more": (ordered("one"), ordered("one", "one")),
    "what an effect says": (ordered("one"), ordered("two")),
    "what a callback captures": (callback_of(2.0), callback_of(3.0)),
    "condition of a loop": (
        lambda x: lax.while_loop(lambda c: c[0] < 3, lambda c: c + 1, x),
        lambda x: lax.while_loop(lambda c: c[0] < 4, lambda c: c + 1, x),
    ),
    "start of a loop": (
        lambda x: lax.fori_loop(0, 3, lambda i, c: c * i, x),
        lambda x: lax.fori_loop(1, 3, lambda i, c: c * i, x),
    ),
    "length of a scan": (
        lambda x: lax.scan(lambda c, _: (c * 2, None), x, length=3)[0],
        lambda x: lax.scan(lambda c, _: (c * 2, None), x, length=4)[0],
    ),
    "which carried value changes": (lambda x: swapped(x, x), lambda x: not_swapped(x, x)),
    "which loop a symbol is of": (nested_loops(lambda c: c), nested_loops(lambda c: c * 0.0)),
    "branches": (
        lambda x: lax.cond(x[0] > 0, jnp.sin, jnp.cos, x),
        lambda x: lax.cond(x[0] > 0, jnp.cos, jnp.sin, x),
    ),
    "index of a branch": (
        lambda x: lax.cond(x[0] > 0, jnp.sin, jnp.cos, x),
        lambda x: lax.cond(x[1] > 0, jnp.sin, jnp.cos, x),
    ),
    "effect of a branch": (
        lambda x: lax.cond(x[0] > 0, ordered("one"), ordered("two"), x),
        lambda x: lax.cond(x[0] > 0, ordered("two"), ordered("one"), x),
    ),
    "what is in a checkpoint": (
        lambda x: jax.checkpoint(jnp.sin)(jnp.cos(x)),
        lambda x: jax.checkpoint(lambda y: jnp.sin(jnp.cos(y)))(x),
    ),
    "donation by an inner jit": (jit_with(), jit_with(donate_argnums=0)),
    "sharding of an inner jit": (
        jit_with(out_shardings=NamedSharding(MESH, P("i"))),
        jit_with(out_shardings=NamedSharding(MESH, P())),
    ),
    "specs of a shard_map": (
        jax.shard_map(lambda x: x * 2, mesh=MESH, in_specs=P("i"), out_specs=P("i")),
        jax.shard_map(lambda x: x * 2, mesh=MESH, in_specs=P(), out_specs=P()),
    ),
    "how elements are combined": (
        lambda x: lax.reduce(x, 1.0, lambda a, b: a * b, (0,)),
        lambda x: lax.reduce(x, 1.0, lambda a, b: a * b + 1, (0,)),
    ),
    "solver": (
        lambda x: lax.custom_linear_solve(lambda v: v * 2, x, lambda f, b: b / 2),
        lambda x: lax.custom_linear_solve(lambda v: v * 2, x, lambda f, b: b / 4),
    ),
    "metadata for XLA": (
        jnp.sin,
        lambda x: (
            jax.experimental.xla_metadata.set_xla_metadata(a="b")(jnp.sin)(x)
            if hasattr(jax.experimental, "xla_metadata")
            else jnp.cos(x)
        ),
    ),
    "where an exported program takes its argument": (exported(P()), exported(P("i"))),
    "what XLA is told of inlining": (
        lambda x: jax.jit(jnp.sin)(x),
        lambda x: (
            jax.jit(jnp.sin, inline=jax.Inline.XLA_LATE)(x)
            if hasattr(jax, "Inline")  # since 0.12
            else jnp.cos(x)
        ),
    ),
}


@pytest.mark.parametrize("what", PAIRS)
def test_programs_that_differ_in_one_thing_have_other_digests(what):
    one, two = PAIRS[what]
    assert digest(one, X) != digest(two, X)


@pytest.mark.parametrize(
    ("one", "two"),
    [
        (X, X.astype(jnp.float16)),
        (X, X[:3]),
        (jnp.float32(1), 1.0),
        (X, jax.device_put(X, NamedSharding(MESH, P()))),
    ],
    ids=["dtype", "shape", "weak type", "mesh"],
)
def test_another_type_of_an_argument_is_another_program(one, two):
    if "mesh" in os.environ.get("PYTEST_CURRENT_TEST", "") and not jax.typeof(two).sharding.mesh:
        pytest.fail("the type of a sharded argument has a mesh")
    assert digest(lambda x: x * 2, one) != digest(lambda x: x * 2, two) or (
        jax.typeof(one) == jax.typeof(two)
    )


# -- equal by construction -------------------------------------------------------------------------


def carried_in_another_order(x):
    found = lax.fori_loop(0, 3, lambda i, c: (c[1] * 2.0, c[0] + C), (x * 3.0, x))
    return found[1], found[0]


@jax.custom_jvp
def with_rule(x):
    return jnp.sin(x)


with_rule.defjvp(lambda p, t: (with_rule(*p), t[0]))

EQUAL = {
    "renamed": (lambda x: jnp.sin(x) * 2, lambda another_name: jnp.sin(another_name) * 2),
    "equations in another order": (
        lambda x: (lambda a, b: a + b)(jnp.sin(x), jnp.cos(x)),
        lambda x: (lambda b, a: a + b)(jnp.cos(x), jnp.sin(x)),
    ),
    "nested in jit": (
        lambda x: jnp.sin(x * C) + 1,
        lambda x: jax.jit(lambda y: jnp.sin(y * C))(x) + 1,
    ),
    "a constant passed down": (
        lambda x: jax.jit(lambda y: y * C)(x),
        lambda x: jax.jit(lambda y, c: y * c)(x, C),
    ),
    "an equal constant": (lambda x: x * C, lambda x: x * C.copy()),
    "a NumPy array and one of JAX": (lambda x: x * C, partial(lambda c, x: x * c, jnp.asarray(C))),
    "dead code": (lambda x: x + 1, lambda x: (jnp.sin(x), x + 1)[1]),
    "carried values in another order": (
        lambda x: lax.fori_loop(0, 3, lambda i, c: (c[1] + C, c[0] * 2.0), (x, x * 3.0)),
        carried_in_another_order,
    ),
    "a dead carried value": (
        lambda x: lax.fori_loop(0, 3, lambda i, c: c * C, x),
        lambda x: lax.fori_loop(0, 3, lambda i, c: (c[0] * C, c[1] + i), (x, 0))[0],
    ),
    "a carried value that no turn changes": (
        lambda x: lax.fori_loop(0, 3, lambda i, c: c * C, x),
        lambda x: lax.fori_loop(0, 3, lambda i, c: (c[0] * c[1], c[1]), (x, C))[0],
    ),
    "equal carried values": (
        lambda x: (lambda c: (c, c))(lax.fori_loop(0, 3, lambda i, c: jnp.sin(c), x)),
        lambda x: lax.fori_loop(0, 3, lambda i, c: (jnp.sin(c[1]), jnp.sin(c[0])), (x, x)),
    ),
    "branches that give one value": (
        lambda x: x * C,
        lambda x: x * lax.cond(x[0] > 0, lambda: C, lambda: C.copy()),
    ),
    "a rule for derivatives": (jnp.sin, with_rule),
}


@pytest.mark.parametrize("what", EQUAL)
def test_programs_that_are_equal_by_construction_have_one_digest(what):
    one, two = EQUAL[what]
    assert digest(one, X) == digest(two, X)


def nested(depth, grown):
    """A function that calls itself twice at each of so many levels."""
    fun = jnp.sin
    for _ in range(depth):
        fun = jax.jit(lambda x, fun=fun: fun(x) + fun(grown(x)))
    return fun


def combining(fun):
    return lambda x: lax.reduce(x, 0.0, lambda one, other: one + fun(other), (0,))


def in_a_kernel(fun):
    def kernel(x, result):
        result[...] = fun(x[...])

    return lambda x: pl.pallas_call(kernel, out_shape=x, interpret=True)(x)


def in_a_map(fun):
    def kernel(x, result):
        result[...] = x[...]

    def place(n):
        return (fun(n * 1.0).astype(int),)

    blocks = {"grid": (1,), "in_specs": [pl.BlockSpec(X.shape, place)]}
    return lambda x: pl.pallas_call(kernel, out_shape=x, interpret=True, **blocks)(x)


@pytest.mark.parametrize("within", [jax.jit, combining, in_a_kernel, in_a_map])
@pytest.mark.parametrize("grown", [lambda x: x, lambda x: x * 0.5], ids=["equal", "other"])
def test_calls_that_nest_deeply_are_numbered_once_each(grown, within):
    found = number_jaxpr(jax.jit(within(nested(60, grown))).trace(X).jaxpr)
    assert len(found.steps) < 60 * 6
    assert found.digest == digest(within(nested(60, grown)), X)
    assert found.digest != digest(within(nested(59, grown)), X)


def test_near_the_bound_both_digests_are_made():
    small, larger = (
        number_jaxpr(jax.jit(nested(depth, lambda x: x * 0.5)).trace(X).jaxpr) for depth in (2, 5)
    )
    assert (small.by_calls, larger.by_calls == larger.digest) == (b"", False)
    assert larger.by_calls


# -- what is not known -----------------------------------------------------------------------------


class Kind(type):
    """A metaclass of the user's."""


class Scale(metaclass=Kind):
    def __init__(self, by):
        self.by = by

    def __call__(self, x):
        return np.asarray(x) * self.by


@jax.custom_vjp
def of_two_bodies(x):
    return jnp.sin(x)


# Lowered without its residuals, it is the primal function, which is traced then.
of_two_bodies.defvjp(lambda x: (2 * x, x), lambda x, ct: (ct * x,), optimize_remat=True)


@pytest.mark.parametrize(
    ("fun", "what"),
    [
        (lambda x: jax.pure_callback(Scale(2.0), x, x), "Scale"),
        (lambda x: jax.pure_callback(lambda y: Scale(2.0)(y), x, x), "Scale"),
        (lambda x: (jax.debug.inspect_array_sharding(x, callback=print), x), "inspect_sharding"),
        (lambda x: (jax.debug.callback(print, x, partitioned=True), x), "callback of each part"),
        (lambda x: jax.vjp(of_two_bodies, x)[0], "fun_jaxpr_thunk of remat_opt"),
    ],
)
def test_what_has_no_rule_is_undecided_by_its_name(fun, what):
    with pytest.raises(UndecidedError, match=what):
        digest(fun, X)


def test_a_param_that_another_jax_may_add_to_a_call_is_undecided():
    closed = jax.make_jaxpr(jax.jit(lambda x: x + 1))(X)
    [call] = closed.jaxpr.eqns
    added = call.replace(params={**call.params, "twice": True})
    with pytest.raises(UndecidedError, match="the param twice of jit"):
        number_jaxpr(core.ClosedJaxpr(closed.jaxpr.replace(eqns=[added]), closed.consts))


def test_a_type_that_is_gone_leaves_no_digest_to_another():
    """JAX may give its place in memory, and so its id, to the next one."""
    shapes = range(200)
    assert len({digest_of_type(jax.core.ShapedArray((n,), np.float32)) for n in shapes}) == 200


def test_a_primitive_that_gives_a_value_of_a_hijax_type_is_undecided():
    """Whatever it captures: the value is made when it expands, and is none that is captured."""

    def fun(x):
        of_pair = (jax.typeof(paired(x)),)
        return Expanding(lambda pair: pair.arrays[0], of_pair, jax.typeof(x))(paired(x))

    with pytest.raises(UndecidedError, match="Expanding of one object, which gives more than arr"):
        digest(fun, X)


class Shrinking(Expanding):
    def dce(self, used, *live):
        return super().dce(used, *live)


def test_a_primitive_that_may_become_another_one_is_undecided():
    def fun(x):
        return Shrinking(jnp.sin, (jax.typeof(x),), jax.typeof(x))(x)

    with pytest.raises(UndecidedError, match="Shrinking of one object, which may become another"):
        digest(fun, X)


# -- primitives that are not JAX's -----------------------------------------------------------------


def primitive(rule):
    """A primitive that is lowered as `rule`; it is named as one of JAX's."""
    found = core.Primitive("sin")
    found.def_abstract_eval(lambda x, **params: x)
    mlir.register_lowering(found, mlir.lower_fun(rule, multiple_results=False))
    return found


def scaled(by):
    return primitive(lambda x: x * by)


_BY_TWO, _BY_PARAM = scaled(2.0), primitive(lambda x, by: x * by)


@pytest.mark.parametrize(
    ("one", "two"),
    [
        (_BY_TWO.bind, jnp.sin),
        (_BY_TWO.bind, scaled(3.0).bind),
        (scaled(C).bind, scaled(C + 1).bind),
        (partial(_BY_PARAM.bind, by=2), partial(_BY_PARAM.bind, by=3)),
        (_BY_TWO.bind, lambda x: _BY_TWO.bind(x + 1)),
        (primitive(lambda x: x + x[::-1]).bind, lambda x: _BY_TWO.bind(x[::-1])),
    ],
    ids=["JAX's of its name", "what it does", "what it captures", "param", "operand", "elements"],
)
def test_another_primitive_that_is_not_jaxs_is_another_program(one, two):
    assert digest(one, X) != digest(two, X)


def test_a_primitive_that_is_not_jaxs_is_what_it_is_lowered_to():
    assert digest(_BY_TWO.bind, X) == digest(scaled(2.0).bind, X)
    assert digest(scaled(C).bind, X) == digest(scaled(C.copy()).bind, X)

    def repeated(x):
        return lax.fori_loop(0, 3, lambda i, c: _BY_TWO.bind(c) * C, x)

    assert digest(repeated, X) == digest(jax.jit(repeated), X)


@pytest.mark.parametrize(
    ("rule", "what"),
    [
        (lambda x: jax.pure_callback(lambda v: os.getenv(v), x, x), "reads the environment"),
        (lambda x: lax.psum(x, "i"), "is not lowered by itself: NameError"),
    ],
)
def test_a_primitive_whose_module_does_not_say_what_it_does_is_undecided(rule, what):
    with pytest.raises(UndecidedError, match=what):
        digest(primitive(rule).bind, X)


def test_a_jaxpr_tells_whether_it_calls_functions_by_their_names_alone():
    call = jax.ffi.ffi_call("of_a_library", jax.ShapeDtypeStruct(X.shape, X.dtype))

    def is_native(fun):
        return number_jaxpr(jax.make_jaxpr(fun)(X)).is_native

    assert is_native(lambda x: lax.fori_loop(0, 3, lambda i, c: call(c), x))
    assert is_native(primitive(call).bind)
    assert not is_native(lambda x: jnp.linalg.qr(jnp.outer(x, x))[0])
    assert not is_native(_BY_TWO.bind)


def lowered_by(**rules):
    """A primitive with a lowering rule for each platform; that of `other` is for all others."""
    found = core.Primitive("sin")
    found.def_abstract_eval(lambda x, **params: x)
    for platform, rule in rules.items():
        where = None if platform == "other" else platform
        lowering = mlir.lower_fun(rule, multiple_results=False)
        mlir.register_lowering(found, lowering, platform=where)
    return found.bind


def test_a_primitive_is_what_each_platform_lowers_it_to():
    kinds = [
        {"other": jnp.cos},
        {"cpu": jnp.cos},
        {"other": jnp.cos, "cuda": jnp.sin},
        {"other": jnp.cos, "cuda": jnp.tan},
        {"other": jnp.sin, "cuda": jnp.tan},
        {"other": jnp.cos, "cpu": jnp.sin},
        {"cpu": jnp.cos, "cuda": jnp.sin},
        {"cpu": jnp.cos, "tpu": jnp.sin},
    ]
    digests = [digest(lowered_by(**rules), X) for rules in kinds]
    assert digests == [digest(lowered_by(**rules), X) for rules in kinds]
    assert len({*digests}) == len(kinds)


def calls(*functions):
    """A rule of lowering that calls functions of Python one by one."""

    def rule(x):
        for function in functions:
            x = jax.pure_callback(function, x, x)
        return x

    return rule


def times_c():
    """Another function of one code each time."""
    return lambda x: x * C


def test_a_primitive_that_calls_python_is_what_it_calls():
    kinds = [
        {"other": calls(np.sin)},
        {"other": calls(np.cos)},
        {"other": calls(lambda x: x * C)},
        {"other": calls(lambda x: x * (C + 1))},
        {"other": calls(np.sin, np.cos)},
        {"other": calls(np.cos, np.sin)},
        {"other": calls(np.sin, np.sin)},
        {"other": calls(times_c(), np.sin, times_c())},
        {"other": calls(times_c(), times_c(), np.sin)},
        {"cpu": calls(np.sin), "cuda": jnp.sin},
        {"cpu": calls(np.cos), "cuda": jnp.sin},
    ]
    digests = [digest(lowered_by(**rules), X) for rules in kinds]
    assert digests == [digest(lowered_by(**rules), X) for rules in kinds]
    assert len({*digests}) == len(kinds)


def test_a_primitive_that_calls_python_may_write_to_what_its_function_holds():
    held = np.zeros(3, np.float32)

    def writers(*functions):
        bound = lowered_by(other=calls(*functions))
        return number_jaxpr(jax.make_jaxpr(bound)(X)).writers

    assert writers(lambda x: held + x) > 0
    assert writers() == 0


_PROGRAM = """
import jax, jax.numpy as jnp, numpy as np
from parity_tests.jaxpr.bodies import is_body
from parity_tests.proof.jaxprs import number_jaxpr
w = np.arange(64.0, dtype=np.float32).reshape(8, 8)
def fun(x):
    y = jax.lax.fori_loop(0, 3, lambda i, c: jnp.tanh(c @ w), x)
    return {"b": jax.vmap(lambda r: r * w[0])(y), "a": jax.random.normal(jax.random.key(3), (2,))}
print(number_jaxpr(jax.jit(fun).trace(jnp.ones((8, 8))).jaxpr).digest.hex())
"""


def test_the_digest_is_one_in_both_forms_in_any_process():
    def run(seed, flag):
        return subprocess.Popen(
            [sys.executable, "-c", _PROGRAM],
            env={**os.environ, "PYTHONHASHSEED": seed, "JAX_USE_SIMPLIFIED_JAXPR_CONSTANTS": flag},
            stdout=subprocess.PIPE,
            text=True,
        )

    found = {process.communicate()[0] for process in [run("1", "0"), run("2", "1")]}
    assert len(found) == 1
    assert len(found.pop()) == 33


def test_the_digest_is_that_of_other_versions_of_jax_that_trace_alike():
    """It is pinned here, for every version that the tests run on: it changes with our rules."""
    w = np.arange(64, dtype=np.float32).reshape(8, 8)

    def fun(x):
        return lax.scan(lambda c, y: (jnp.sin(c @ w) + y, y * 2), x, jnp.ones((3, 8)))

    assert digest(fun, jnp.ones(8, jnp.float32)).hex() == "9686a3a3c334958c3164d834bfd35a8b"


# -- Python that may write -------------------------------------------------------------------------

HELD = np.zeros(4, np.float32)
HOLDS = [HELD]


def writes(value):
    HELD[0] = value[0]
    return value


def has_a_default(value, array=HELD):
    return value


def with_a_scan(function):
    def body(carry, _):
        return jax.pure_callback(function, carry, carry), None

    return lambda x: lax.scan(body, x, None, length=3)[0]


@pytest.mark.parametrize(
    ("writers", "fun"),
    [
        (0, lambda x: jax.debug.callback(lambda value: None, x)),
        (0, lambda x: jax.debug.print("{}", x)),
        (0, lambda x: jax.pure_callback(np.sin, x, x)),
        (0, with_a_scan(lambda value: np.sin(value))),
        (1, with_a_scan(writes)),
        (1, lambda x: jax.pure_callback(has_a_default, x, x)),
        (1, lambda x: jax.pure_callback(partial(has_a_default, array=HELD), x, x)),
        (1, lambda x: io_callback(lambda value: writes(value), x, x)),
        (1, lambda x: jax.debug.callback(lambda value: HOLDS[0].fill(0), x)),
        (1, lambda x: lax.cond(x[0] > 0, lambda: jax.pure_callback(writes, x, x), lambda: x)),
    ],
)
def test_callbacks_that_reach_a_numpy_array_are_counted(writers, fun):
    assert number_jaxpr(jax.jit(fun).trace(X).jaxpr).writers == writers


@pytest.mark.parametrize("read", [number_jaxpr, captured_uses])
def test_reading_a_jaxpr_leaves_no_cycles(read):
    """A suite in prove mode may count what the collector of garbage finds."""

    def program(x):
        rows = lax.scan(lambda carry, row: (carry + C * row, carry), x, x)[1]
        which = lax.cond(x[0] > 0, lambda v: v * C, jax.jit(jnp.sin), x)
        return jax.grad(lambda v: (jnp.tanh(v * C) + which).sum())(x) + rows[0]

    closed = jax.make_jaxpr(program)(X)
    read(closed)  # makes what is kept
    gc.collect()
    read(closed)
    assert gc.collect() == 0
