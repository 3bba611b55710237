"""Fifty programs with one planted problem each: a flip of JAX's default breaks or burdens each."""

import os
import time

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.experimental import io_callback
from jax.extend import core
from jax.interpreters import mlir

from parity_tests import program

FLIPPED = os.environ["JAX_USE_SIMPLIFIED_JAXPR_CONSTANTS"] == "1"
RANDOM = np.random.default_rng(0)
WEIGHTS = jnp.asarray(RANDOM.random((16, 16), np.float32))
LARGE = jnp.asarray(RANDOM.random(400_000, np.float32))
SQUARE = jnp.asarray(RANDOM.random((700, 700), np.float32))
X = RANDOM.random((4, 16), np.float32)
SCALAR = jax.ShapeDtypeStruct((), np.float32)


def model(x):
    return jnp.tanh(x @ WEIGHTS)


# -- values ----------------------------------------------------------------------------------------


@program(args=(X,))
def value_scaled(x):
    return model(x) * (1.001 if FLIPPED else 1.0)


@program(args=(X,))
def value_of_one_element(x):
    return model(x).at[2, 3].add(0.01 if FLIPPED else 0.0)


@program(args=(np.arange(1000),))
def value_of_an_integer(x):
    return x.sum() + (1 if FLIPPED else 0), model(X)


@program(args=(X,))
def value_of_a_bool(x):
    return (x > 0.5) if FLIPPED else (x >= 0.4), model(x)


@program(args=(X,))
def value_not_a_number(x):
    return jnp.where(x > 0.9, jnp.nan, model(x)[:, :16]) if FLIPPED else model(x)


@program(args=(X,))
def value_conjugated(x):
    y = model(x) + 1j
    return y.conj() if FLIPPED else y


@program(args=(X,))
def value_of_an_index(x):
    return jnp.argsort(model(x), axis=1, descending=FLIPPED)


@program(args=(X,))
def value_of_another_key(x):
    return model(x) + jax.random.normal(jax.random.key(1 if FLIPPED else 0), x.shape)


@program(args=(X,))
def value_in_one_of_many_leaves(x):
    return {f"layer_{number}": model(x) + number * (1.01 if FLIPPED else 1) for number in range(20)}


# -- types and structure ---------------------------------------------------------------------------


@program(args=(X,))
def type_narrower(x):
    return model(x).astype(jnp.bfloat16 if FLIPPED else jnp.float32)


@program(args=(X,))
def type_of_another_shape(x):
    return model(x)[:3] if FLIPPED else model(x)


@program(args=(X,))
def type_weak(x):
    return model(x).sum(), (jnp.sin(1.0) if FLIPPED else jnp.sin(jnp.float32(1.0)))


@program(args=(X,))
def type_of_another_tree(x):
    return {"y": model(x)} if FLIPPED else [model(x)]


@program(args=(X,))
def type_without_a_leaf(x):
    return {"y": model(x)} if FLIPPED else {"y": model(x), "x": x}


@program(args=(X,))
def type_with_other_names(x):
    return {"loss" if FLIPPED else "cost": model(x)}


# -- failures --------------------------------------------------------------------------------------


@program(args=(X,))
def fails_while_traced(x):
    if FLIPPED:
        raise LookupError("no such layer")
    return model(x)


@program
def fails_in_the_factory():
    if FLIPPED:
        raise OSError("no such file")
    return model, (X,)


@program(args=(X,))
def fails_when_called(x):
    def check(value):
        if FLIPPED:
            raise ArithmeticError("out of range")
        return value

    return jax.pure_callback(check, SCALAR, x[0, 0]) * model(x)


@program(args=(X,))
def fails_by_exit(x):
    if FLIPPED:
        os._exit(7)
    return model(x)


@program(args=(X,))
def fails_by_abort(x):
    if FLIPPED:
        os.abort()
    return model(x)


@program(args=(X,))
def fails_by_recursion(x):
    def deeper(depth):
        return deeper(depth + 1)

    return deeper(0) if FLIPPED else model(x)


# -- effects ---------------------------------------------------------------------------------------


def log(*values):
    """Stands for a logger."""


def log_elsewhere(*values):
    """Stands for another logger."""


@program(args=(X,))
def effect_of_another_value(x):
    jax.debug.callback(log, x[0, 0] * (2 if FLIPPED else 1))
    return model(x)


@program(args=(X,))
def effect_twice(x):
    for _ in range(2 if FLIPPED else 1):
        io_callback(log, None, x[0, 0], ordered=True)
    return model(x)


@program(args=(X,))
def effect_lost(x):
    if not FLIPPED:
        jax.debug.callback(log, x[0, 0])
    return model(x)


@program(args=(X,))
def effect_of_another_function(x):
    jax.debug.callback(log_elsewhere if FLIPPED else log, x[0, 0])
    return model(x)


@program(args=(X,))
def effect_in_another_order(x):
    for value in (1.0, 2.0) if FLIPPED else (2.0, 1.0):
        io_callback(log, None, x[0, 0] * value, ordered=True)
    return model(x)


@program(args=(X,))
def effect_of_another_text(x):
    jax.debug.print("error {}" if FLIPPED else "loss {}", x[0, 0])
    return model(x)


@program(args=(X,))
def effect_in_more_turns(x):
    def body(turn, carry):
        io_callback(log, None, turn, ordered=True)
        return carry

    return lax.fori_loop(0, 5 if FLIPPED else 4, body, model(x))


# -- later calls -----------------------------------------------------------------------------------


def counting(of_call):
    calls = iter(range(1, 10**9))

    def factor(x):
        return np.float32(of_call(next(calls)))

    return (lambda x: io_callback(factor, SCALAR, x[0, 0], ordered=True) * model(x)), (X,)


@program
def later_wrong_once():
    return counting(lambda call: 3 if FLIPPED and call == 5 else 2)


@program
def later_wrong_for_good():
    return counting(lambda call: 3 if FLIPPED and call > 8 else 2)


@program
def leaves_arrays():
    kept = []

    def keep(x):
        if FLIPPED:
            kept.append(jnp.ones(1000) * 2)

    def run(x):
        jax.debug.callback(keep, x[0, 0])
        return model(x)

    return run, (X,)


# -- costs -----------------------------------------------------------------------------------------


@program(args=(np.float32(2.0),))
def costs_a_folded_chain(x):
    work = LARGE
    for _ in range(8):
        work = jnp.cos(jnp.sin(work))
    return x * work.max()


@program(args=(np.float32(2.0),))
def costs_a_folded_product(x):
    return x * jnp.sin(SQUARE @ SQUARE @ SQUARE).max()


@program(args=(X,))
def costs_a_wait(x):
    def wait(value):
        time.sleep(0.03 if FLIPPED else 0.0)
        return value

    return jax.pure_callback(wait, SCALAR, x[0, 0]) * model(x)


@program(args=(X,))
def costs_three_times_the_work(x):
    y = model(x)
    for _ in range(2 if FLIPPED else 0):
        y = jnp.maximum(y, model(x))
    return y


@program(args=(X,))
def costs_ten_times_the_work(x):
    y = model(x)
    for _ in range(9 if FLIPPED else 0):
        y = jnp.maximum(y, model(x))
    return y


@program(args=(np.float32(2.0),))
def costs_a_folded_convolution(x):
    return x * jnp.convolve(LARGE[:20_000], LARGE[:1_000]).max()


class ByIdentity:
    """An array as a parameter of an operation, which has to be hashable."""

    def __init__(self, array):
        self.array = array


inlined_p = core.Primitive("inlined")
inlined_p.def_abstract_eval(lambda x, *, table: x)
mlir.register_lowering(
    inlined_p,
    lambda context, x, *, table: [mlir.hlo.multiply(x, mlir.ir_constant(table.array))],
)


@program(args=(X,))
def costs_an_inlined_array(x):
    table = np.asarray(X)
    return inlined_p.bind(x, table=ByIdentity(table)) if FLIPPED else x * table


# -- code that reads jaxprs or the flag ------------------------------------------------------------


@program(args=(X,))
def reads_the_first_constant(x):
    return x + jax.make_jaxpr(model)(x).consts[0].sum()


@program(args=(X,))
def reads_how_many_constants(x):
    return x * len(jax.make_jaxpr(model)(x).consts)


@program(args=(X,))
def reads_how_many_constvars(x):
    return x * len(jax.make_jaxpr(model)(x).jaxpr.constvars)


@program(args=(X,))
def reads_operands_as_variables(x):
    closed = jax.make_jaxpr(lambda y: lax.sin(y) * WEIGHTS[:4])(x)
    values = dict(zip(closed.jaxpr.constvars, closed.consts, strict=True))
    values.update(zip(closed.jaxpr.invars, (x,), strict=True))
    for each in closed.jaxpr.eqns:
        operands = [values[var] for var in each.invars]
        values[each.outvars[0]] = each.primitive.bind(*operands, **each.params)
    return values[closed.jaxpr.outvars[0]]


@program(args=(X,))
def reads_the_flag(x):
    return x * (3 if jax.config.jax_use_simplified_jaxpr_constants else 2)


@program(args=(X,))
def reads_the_flag_and_refuses(x):
    if jax.config.jax_use_simplified_jaxpr_constants:
        raise NotImplementedError("the other form is not supported")
    return model(x)


@program(args=(X,))
def reads_inputs_of_a_body(x):
    closed = jax.make_jaxpr(lambda y: lax.scan(lambda c, _: (c @ WEIGHTS, None), y, None, 3))(x)
    [scan] = [each for each in closed.jaxpr.eqns if each.primitive.name == "scan"]
    return x * len(scan.params["jaxpr"].jaxpr.invars)


# -- donation, and rounding that is magnified ------------------------------------------------------


@program
def donated_as_well():
    array = jnp.ones((64, 64))
    return jax.jit(lambda x: x + array, donate_argnums=0), (array,)


@program
def donated_in_a_tree():
    state = {"w": jnp.ones((64, 64)), "step": jnp.zeros(())}
    captured = state["w"]
    return jax.jit(lambda s: {**s, "w": s["w"] @ captured}, donate_argnums=0), (state,)


@program(args=(np.float32(1e-7),))
def magnifies_a_rounding(x):
    start = jnp.exp(-WEIGHTS[0] * 3) * 0.9 + 0.05

    def turn(_, y):
        return 3.99 * y * (1 - y)

    return lax.fori_loop(0, 60, turn, start + x * 0)


@program(args=(np.float32(1e-7),))
def magnifies_a_logarithm(x):
    start = jnp.log1p(jnp.sin(WEIGHTS[1]) + 0.1) * 0.8

    def turn(_, y):
        return 3.97 * y * (1 - y)

    return lax.fori_loop(0, 70, turn, start + x * 0)


@program(args=(np.float32(1e-7),))
def magnifies_a_difference(x):
    folded = jnp.exp(WEIGHTS[2]) - jnp.exp(WEIGHTS[2] * (1 + 1e-6))
    return (folded + x * 0) * 1e6
