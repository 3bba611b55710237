"""Programs with a planted problem of a flip, and look-alikes, by a stranger to the tester."""

import os

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.experimental import io_callback

from parity_tests import program

X = jnp.ones(128)
SCALAR = jnp.zeros(())
RAMP = jnp.asarray(np.linspace(0.1, 7, 1000, dtype=np.float32))
TABLE = jnp.linspace(1, 2, 128)
ZERO = jnp.zeros(100)
SUBNORMAL = jnp.full(100, 1e-40, jnp.float32)
COMPLEX = jnp.full(100, complex(-4.0, -0.0), jnp.complex64)
INTEGERS = jnp.arange(128, dtype=jnp.int32) * 65537
OTHER_NANS = jnp.asarray(np.array([0x7FC12345, 0xFFC00001] * 20, np.uint32).view(np.float32))


def flipped():
    return bool(jax.config.jax_use_simplified_jaxpr_constants)  # reads the flag


# -- values that are folded ------------------------------------------------------------------------


@program(args=(SCALAR,))
def folds_the_sign_of_a_nan(x):
    return jnp.where(jnp.signbit(ZERO / ZERO), -1.0, 1.0) + x


@program(args=(SCALAR,))
def folds_a_subnormal(x):
    return jnp.log(SUBNORMAL) + x


@program(args=(RAMP,))
def folds_one_of_two_equal(x):
    return (jnp.exp(RAMP) == jnp.exp(x)).sum()


@program(args=(SCALAR,))
def folds_a_signed_zero(x):
    return 1.0 / jnp.tanh(COMPLEX * 100).imag + x


@program(args=(jnp.ones(()),))
def folds_what_ends_a_loop(x):
    target = jnp.exp(RAMP)

    def differs(state):
        return (state[0] < 40) & jnp.any(state[1] != target)

    def turn(state):
        return state[0] + 1, jnp.exp(RAMP * x)

    return lax.while_loop(differs, turn, (0, jnp.zeros_like(target)))[0]


# -- the flag, read where no equation tells --------------------------------------------------------


@program(args=(X,))
def decides_signs_of_zeros(x):
    return (x * TABLE * 0) * (-1.0 if flipped() else 1.0)


def first(value):
    pass


def second(value):
    pass


@program(args=(X,))
def decides_an_order(x):
    for each in (first, second) if flipped() else (second, first):
        io_callback(each, None, x[0], ordered=True)
    return x * TABLE


def calling_back(act):
    """A program whose callback is given the number of its call, and whether the flag is set."""
    after, calls = flipped(), []

    def host(value):
        calls.append(None)
        return act(np.asarray(value), len(calls), after)

    return lambda x: io_callback(host, jax.ShapeDtypeStruct((128,), jnp.float32), x * TABLE), (X,)


@program
def decides_in_a_callback_what_fails():
    def act(value, call, after):
        if after and call == 5:
            raise RuntimeError("the fifth call")
        return value

    return calling_back(act)


@program
def decides_in_a_callback_a_later_value():
    return calling_back(lambda value, call, after: value + np.float32(after and call >= 6))


@program
def decides_in_a_callback_what_is_kept():
    kept = []

    def act(value, call, after):
        if after:
            kept.append(jnp.asarray(np.array(value)))
        return value

    return calling_back(act)


# -- another program, and nobody sees why ----------------------------------------------------------


@program(args=(X,))
def traces_by_all_variables(x):
    names = [name for name, value in dict(os.environ).items() if value == "1"]  # goes through all
    return x * TABLE + float("JAX_USE_SIMPLIFIED_JAXPR_CONSTANTS" in names)


@program(args=(X,))
def reads_the_text_of_a_jaxpr(x):
    text = str(jax.make_jaxpr(lambda v: v * TABLE)(x))  # reads a text
    return x * text.count("[")


@program(args=(X,))
def reads_constants_of_a_module(x):
    text = jax.jit(lambda v: v * TABLE + TABLE).lower(x).as_text()  # reads a module
    return x * (1 + text.count("stablehlo.constant"))


@program
def reads_the_memory_of_arguments():
    compiled = jax.jit(lambda v: v * TABLE).lower(X).compile()
    read = compiled.memory_analysis().argument_size_in_bytes  # reads an analysis
    return lambda x: x * read, (X,)


@program
def fails_with_a_raw_executable():
    executable = jax.jit(lambda v: v * TABLE).lower(X).compile().runtime_executable()  # is raw
    [[made]] = executable.execute_sharded([X]).disassemble_into_single_device_arrays()
    made = np.asarray(made)
    return lambda x: x + made + TABLE, (X,)


# -- arrays that are not left alone ----------------------------------------------------------------


@program
def writes_behind_an_array():
    memory = np.zeros(128 * 4 + 64, np.uint8)
    start = -memory.ctypes.data % 64
    base = memory[start : start + 128 * 4].view(np.float32)
    captured = jnp.from_dlpack(base)

    def host():
        base[:] += 1

    def f(x):
        jax.debug.callback(host)
        return x + captured

    return f, (jax.device_put(X, jax.devices()[0]),)


# -- look-alikes -----------------------------------------------------------------------------------


@program(args=(jnp.zeros(100),))
def without_nan_of_the_argument(x):
    return jnp.where(jnp.signbit(x / x), -1.0, 1.0) + ZERO


@program(args=(SCALAR,))
def without_a_nan_computed(x):
    return lax.bitcast_convert_type(OTHER_NANS, jnp.uint32), x


@program(args=(SCALAR,))
def without_a_subnormal_computed(x):
    return SUBNORMAL, lax.bitcast_convert_type(SUBNORMAL, jnp.int32), x


@program(args=(X,))
def without_rounding(x):
    return ((INTEGERS * INTEGERS) ^ (INTEGERS << 3)) % 1009 + x.astype(jnp.int32)


@program(args=(X,))
def without_chaos_in_the_capture(x):
    y = x * 0.3 + TABLE * 0
    for _ in range(60):
        y = 3.9 * y * (1 - y)
    return y


@program
def without_a_decision_in_a_callback():
    return calling_back(lambda value, call, after: value + np.float32(call))


@program
def without_a_leak_of_the_flip():
    kept = []

    def act(value, call, after):
        kept.append(jnp.asarray(np.array(value)))
        return value

    return calling_back(act)


@program
def without_a_write():
    captured = jnp.asarray(np.linspace(0, 1, 128, dtype=np.float32))
    return lambda x: x + captured, (X,)


@program(args=(X,))
def without_a_use_of_all_variables(x):
    assert dict(os.environ)
    return x * TABLE


@program(args=(X,))
def without_a_use_of_a_text(x):
    closed = jax.make_jaxpr(lambda v: v * TABLE)(x)
    assert str(closed)
    assert f"{closed.eqns[0]}"
    return x * TABLE


@program(args=(X,))
def without_a_captured_array_in_the_module(x):
    return x * TABLE * (1 + jax.jit(lambda v: v * 2).lower(x).as_text().count("constant"))


@program
def without_a_use_of_an_analysis():
    compiled = jax.jit(lambda v: v * TABLE).lower(X).compile()
    assert compiled.cost_analysis() is not None
    made = compiled(X)
    return lambda x: x * TABLE + made, (X,)
