"""Programs whose trace on a CPU may be another one elsewhere, and such that no device decides.

Each captures the table; the line that reads the backend has a comment with the program's name.
"""

import functools
import os
from concurrent.futures import ThreadPoolExecutor

import jax
import jax.numpy as jnp
from jax.experimental.pallas import tpu as pltpu
from jax.experimental.pallas.ops.tpu.megablox import common
from jax.extend import backend

from parity_tests import program

TABLE = jnp.arange(64.0)
X = jnp.ones(64)
ON_CPU = jax.default_backend() == "cpu"  # at_import
SCALE = 2.0 if ON_CPU else 3.0
SETTINGS = {}
SETTINGS["scale"] = 2.0 * jax.device_count()  # into_a_mapping
[DEVICE] = TABLE.devices()


@program(args=(X,))
def at_import(x):
    return x * SCALE + TABLE


@jax.jit
def shared(x):
    return x * len(jax.devices())  # in_a_function_that_is_shared, and_again


@program(args=(X,))
@jax.jit
def in_a_function_that_is_shared(x):
    return shared(x) + TABLE


@program(args=(X,))
@jax.jit
def and_again(x):
    return shared(x) - TABLE


@program
def when_it_is_built():
    count = jax.local_device_count()  # when_it_is_built
    return lambda x: x * count + TABLE, (X,)


@program(args=(X,))
def asks_an_array(x):
    [device] = TABLE.devices()
    return x + TABLE if device.platform == "cpu" else x - TABLE  # asks_an_array


@program(args=(X,))
def asks_the_backend(x):
    return x + TABLE if "cuda" in backend.get_backend().platform_version else x  # asks_the_backend


@program(args=(X,))
def kept_devices(x):
    return x * len(jax.local_devices()) + TABLE  # kept_devices


@program(args=(X,))
def asks_through_a_kernel_of_jax(x):
    return x + TABLE if common.is_tpu() else x - TABLE  # asks_through_a_kernel_of_jax


@program(args=(X,))
def into_a_mapping(x):
    return x * SETTINGS["scale"] + TABLE


@program(args=(X,))
def asks_for_one_that_is_not_here(x):
    try:
        jax.devices("tpu")  # asks_for_one_that_is_not_here
    except RuntimeError:
        return x + TABLE
    return x - TABLE


@program(args=(X,))
def asks_an_export(x):
    platform = jax.export.default_export_platform()  # asks_an_export
    return x + TABLE if platform == "cpu" else x - TABLE


@program(args=(X,))
def looks_at_a_device(x):
    return x + TABLE if "Cpu" in repr(DEVICE) else x - TABLE  # looks_at_a_device


@program(args=(X,))
def asks_a_setting(x):
    return x + TABLE if jax.config.jax_platforms == "cpu" else x - TABLE  # asks_a_setting


@program(args=(X,))
def asks_a_variable(x):
    return x - TABLE if os.environ.get("JAX_PLATFORMS") == "tpu" else x + TABLE  # asks_a_variable


@program(args=(X,))
def asks_pallas(x):
    return x + TABLE if not pltpu.is_tpu_device() else x - TABLE  # asks_pallas


@program(args=(X,))
def derives_random_numbers(x):
    def drawn(x):
        return jax.random.gamma(jax.random.key(0), x)  # derives_random_numbers

    return jax.jvp(drawn, (TABLE + 1,), (x,))


@functools.cache
def on_cpu():
    return jax.default_backend() == "cpu"  # from_a_cache, again_from_a_cache


@program(args=(X,))
def from_a_cache(x):
    return x + TABLE if on_cpu() else x - TABLE


@program(args=(X,))
def again_from_a_cache(x):
    return x * TABLE if on_cpu() else x - TABLE


@program(args=(X,))
def asks_in_a_thread(x):
    with ThreadPoolExecutor(1) as pool:
        platform = pool.submit(jax.default_backend).result()
    return x + TABLE if platform == "cpu" else x - TABLE


@program(args=(X,))
def has_a_branch_for_each(x):
    return jax.lax.platform_dependent(x, cpu=lambda x: x + TABLE, tpu=lambda x: x - TABLE)


@program(args=(X,))
def asks_nothing(x):
    return jax.device_put(x) + jnp.asarray(TABLE)
