"""Programs that a flip ends or changes by what they read in passing, and look-alikes."""

import ctypes
import functools
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.experimental import pallas as pl
from jax.extend import core

from parity_tests import program

X = jnp.ones(128)
TABLE = jnp.linspace(1, 2, 128)
NUMBERS = jnp.arange(128)
RESULT = jax.ShapeDtypeStruct((128,), jnp.float32)
NAME = "JAX_USE_SIMPLIFIED_JAXPR_CONSTANTS"
COMPILED = jax.jit(lambda v: v * TABLE).lower(X).compile()
WITHOUT_CAPTURE = jax.jit(lambda v: v * 2).lower(X).compile()


# -- what ends the process after a read ------------------------------------------------------------


@program(args=(X,))
def aborts_without_constants(x):
    if not jax.make_jaxpr(lambda v: v * TABLE)(x).consts:  # reads before it aborts
        os.abort()
    return x * TABLE


@program(args=(X,))
def crashes_without_constants(x):
    consts = jax.make_jaxpr(lambda v: v * TABLE)(x).consts  # reads before it crashes
    ctypes.string_at(consts[0].unsafe_buffer_pointer() if consts else 8, 4)
    return x * TABLE


@program
def ends_in_the_factory():
    if os.environ[NAME] == "1":  # reads before it ends
        os._exit(3)
    return lambda x: x * TABLE, (X,)


@program(args=(X,))
def hangs_by_the_flag(x):
    while jax.config.jax_use_simplified_jaxpr_constants:  # reads while it hangs
        time.sleep(0.05)
    return x * TABLE


@program(args=(X,))
def aborts_in_a_callback(x):
    def host(value):
        if jax.config.jax_use_simplified_jaxpr_constants:  # reads in a callback
            os.abort()  # ends in a callback
        return value

    return jax.pure_callback(host, RESULT, x * TABLE)


# -- executables that are called with fewer arguments than they take -------------------------------


def called(executable, value):
    results = executable.execute_sharded([jnp.asarray(np.array(value))])
    [[made]] = results.disassemble_into_single_device_arrays()
    return np.asarray(made)


@program(args=(X,))
def calls_an_executable_in_a_callback(x):
    def host(value):
        return called(COMPILED.runtime_executable(), value)  # takes an executable

    return jax.pure_callback(host, RESULT, x) + TABLE


@program
def compiles_a_module_by_itself():
    lowered = jax.jit(lambda v: v * TABLE).lower(X)
    module = str(lowered.compiler_ir("stablehlo"))  # takes a module
    backend = jax.devices()[0].client
    executable = backend.compile_and_load(module.encode(), backend.devices()[:1])
    return lambda x: jax.pure_callback(lambda v: called(executable, v), RESULT, x) + TABLE, (X,)


# -- the environment, copied and handed on ---------------------------------------------------------

CHILD = [sys.executable, "-c", f"import os; print(os.environ['{NAME}'])"]


def answer(**how):
    return int(subprocess.run(CHILD, capture_output=True, check=True, **how).stdout)  # is inherited


@program(args=(X,))
def asks_a_process(x):
    return x * (TABLE + answer())


@program(args=(X,))
def copies_the_environment(x):
    variables = dict(os.environ)  # is copied
    return x * (TABLE + int(variables[NAME]))


@program(args=(X,))
def opens_the_environment(x):
    variables = Path("/proc/self/environ").read_bytes()  # is opened
    return x * (TABLE + (f"{NAME}=1".encode() in variables.split(b"\0")))


@program(args=(X,))
def goes_through_the_environment(x):
    flags = [v for k, v in os.environ.items() if k == NAME]  # is gone through
    return x * (TABLE + int(flags[0]))


@program(args=(X,))
def asks_a_shell(x):
    status = os.system(f'test "${NAME}" = 1')  # is asked
    return x * (TABLE + float(status == 0))


@program(args=(X,))
def asks_a_process_in_a_callback(x):
    return jax.pure_callback(lambda v: v * np.float32(1 + answer()), RESULT, x * TABLE)


# -- other ways to the flag and to a jaxpr ---------------------------------------------------------


@program(args=(X,))
def reads_by_a_private_name(x):
    flag = jax.config._read("jax_use_simplified_jaxpr_constants")  # reads by a private name
    return x * (TABLE + flag)


@program(args=(X,))
def reads_in_bytes(x):
    return x * (TABLE + int(os.environb[NAME.encode()]))  # reads in bytes


@program(args=(X,))
def reads_in_code_of_a_text(x):
    names = {"jax": jax}
    exec("flag = jax.config.jax_use_simplified_jaxpr_constants", names)  # reads in a text
    return x * (TABLE + names["flag"])


@program(args=(X,))
def reads_in_a_thread(x):
    found = []

    def read():
        found.append(jax.config.jax_use_simplified_jaxpr_constants)  # reads in a thread

    thread = threading.Thread(target=read)
    thread.start()
    thread.join()
    return x * (TABLE + found[0])


@program(args=(X,))
def copies_the_settings(x):
    settings = dict(jax.config.values)  # copies settings
    return x * (TABLE + settings["jax_use_simplified_jaxpr_constants"])


@functools.cache
def kept():
    return int(jax.config.jax_use_simplified_jaxpr_constants)  # reads once


@program(args=(X,))
def keeps_what_it_read(x):
    return x * (TABLE + kept())


@program(args=(X,))
def fails_by_what_it_kept(x):
    if kept():
        raise LookupError("no such form")
    return x * TABLE


def per_element(value):
    return lax.cond(value > 0.5, lambda: value * TABLE.sum(), lambda: value)


@program(args=(X,))
def counts_equations(x):
    closed = jax.make_jaxpr(jax.vmap(per_element))(x)
    return x * len(closed.eqns)  # counts equations


# -- what works after the flip alone ---------------------------------------------------------------


@program(args=(X,))
def captured_in_a_kernel(x):
    def kernel(x_ref, o_ref):
        o_ref[...] = x_ref[...] * TABLE

    return pl.pallas_call(kernel, out_shape=RESULT, interpret=True)(x)


# -- look-alikes -----------------------------------------------------------------------------------


@program(args=(X,))
def without_an_end(x):
    if jax.make_jaxpr(lambda v: v * 2)(x).consts:
        os.abort()
    return x * TABLE


@program(args=(X,))
def without_a_decision_in_the_callback(x):
    def host(value):
        assert jax.config.jax_use_simplified_jaxpr_constants in (True, False)
        return value

    return jax.pure_callback(host, RESULT, x * TABLE)


@program(args=(X,))
def without_a_capture_in_the_executable(x):
    def host(value):
        return called(WITHOUT_CAPTURE.runtime_executable(), value)

    return jax.pure_callback(host, RESULT, x) + TABLE


@program(args=(X,))
def without_a_compiled_stage_read(x):
    return jax.pure_callback(lambda v: np.asarray(COMPILED(np.array(v))), RESULT, x) + TABLE


@program(args=(X,))
def without_a_use_of_the_environment(x):
    assert subprocess.run(["true"], check=True).returncode == 0
    assert os.environ.copy()
    return x * TABLE


@program(args=(X,))
def without_a_use_of_the_file(x):
    assert Path("/proc/self/environ").read_bytes()
    return x * TABLE


@program(args=(X,))
def without_the_flag_in_the_environment(x):
    return x * (TABLE + answer(env={**os.environ, NAME: "0"}))


@program(args=(X,))
def without_a_use_of_the_settings(x):
    assert dict(jax.config.values)
    assert list(os.environ.items())
    return x * TABLE


@program(args=(X,))
def without_a_use_of_the_equations(x):
    closed = jax.make_jaxpr(lambda v: lax.scan(lambda c, _: (c * TABLE, None), v, None, 3)[0])(x)
    assert [each.primitive.name for each in closed.eqns]
    return core.jaxpr_as_fun(closed)(x)


@program(args=(jnp.arange(128),))
def without_more_than_vmap_writes(x):
    def branch(value):
        return lax.cond(value > 64, lambda: value * NUMBERS.sum(), lambda: value)

    return jax.vmap(branch)(x)


@program(args=(X,))
def without_a_capture_in_the_kernel(x):
    def kernel(x_ref, table_ref, o_ref):
        o_ref[...] = x_ref[...] * table_ref[...]

    return pl.pallas_call(kernel, out_shape=RESULT, interpret=True)(x, TABLE)
