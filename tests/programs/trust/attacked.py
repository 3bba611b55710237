"""Programs that differ across the flip and were named wrongly when the tester was attacked."""

import os
import time

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import Primitive
from jax.interpreters import mlir

from parity_tests import program

X = np.linspace(0.1, 0.9, 8).astype(np.float32)


def flipped():
    return bool(jax.config.jax_use_simplified_jaxpr_constants)  # reads the flag


@program(args=(X,))
def another_tree(x):
    return [x, x] if flipped() else (x, x)


@program(args=(X,))
def value_of_a_scatter(x):
    jax.debug.callback(lambda value: None, x.at[3].add(0.01 if flipped() else 0.0))
    return x


@program(args=(X,))
def slow_trace(x):
    if flipped():
        time.sleep(1)
    return x


@program(args=(X,))
def fails_in_a_callback(x):
    def check(value):
        if flipped():
            raise KeyError("at call")  # raises in a callback
        return value

    return jax.pure_callback(check, jax.ShapeDtypeStruct((8,), jnp.float32), x)


lowered_p = Primitive("attacked_lowered")
lowered_p.def_impl(lambda x: x)
lowered_p.def_abstract_eval(lambda aval: aval)


def _lower(_context, operand):
    if flipped():
        raise RuntimeError("no lowering after the flip")
    return [operand]


mlir.register_lowering(lowered_p, _lower)


@program(args=(X,))
def fails_in_lowering(x):
    return lowered_p.bind(x)


@program
def writes_to_what_it_captured():
    memory = np.ones(1032, np.float32)  # XLA shares what is 64-byte aligned
    start = -memory.ctypes.data % 64 // 4
    written = memory[start : start + 1000]

    def write(_value):
        written[:] += 1

    def step(x):
        y = x + written  # captures what is written
        jax.debug.callback(write, x)
        return y

    return step, (np.float32(1.5),)


@program(args=(X,))
def sets_a_variable(x):
    if flipped():
        os.environ["ATTACKED_FACTOR"] = "2"
    return x


@program(args=(X,))
def after_sets_a_variable(x):
    return x * float(os.environ.get("ATTACKED_FACTOR", "1"))
