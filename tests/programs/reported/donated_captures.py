"""Calls that donate an array which the program, or one before it, captured; and look-alikes.

Each takes `jit`. Run as a script it prints which of them work on stock JAX, and which of the files
that are named, whose `program` returns a function and its arguments.
"""

import json
import runpy
import sys
import warnings

import jax
import jax.numpy as jnp
import numpy as np


def table():
    return jnp.arange(64.0)


def captured_and_donated(jit):
    t = table()
    return jit(lambda x: x + t, donate_argnums=0)(t)


def captured_by_an_inner_function(jit):
    t = table()
    inner = jit(lambda x: x + t)
    return jit(lambda x: inner(x) * 2, donate_argnums=0)(t)


def captured_in_a_loop(jit):
    t = table()

    def loop(x):
        return jax.lax.scan(lambda c, _: (c + t, None), x, None, length=3)[0]

    return jit(loop, donate_argnums=0)(t)


def in_a_tree(jit):
    t = {"w": table(), "b": table()}
    return jit(lambda p: {k: p[k] + t[k] for k in p}, donate_argnums=0)(t)


def by_name(jit):
    t = table()
    return jit(lambda *, x: x + t, donate_argnames="x")(x=t)


def by_another_array_on_its_buffer(jit):
    t = table()
    return jit(lambda x: x + t, donate_argnums=0)(jax.device_put(t, jax.devices()[0]))


def ahead_of_time(jit):
    t = table()
    return jit(lambda x: x + t, donate_argnums=0).lower(t).compile()(t)


def with_an_effect(jit):
    t = table()

    def step(x):
        jax.debug.callback(lambda: None)
        return x + t

    return jit(step, donate_argnums=0)(t)


def kept_and_unread(jit):
    t = table()
    return jit(lambda x, y: y + t, donate_argnums=0, keep_unused=True)(t, 1.0)


def unread(jit):
    t = table()
    return jit(lambda x, y: y + t, donate_argnums=0)(t, 1.0)


def by_a_second_program(jit):
    t = table()
    first = jit(lambda x: x + t)
    first(1.0)
    jit(lambda x: x * 2, donate_argnums=0)(t)
    return first(1.0)


def deleted(jit):
    t = table()
    first = jit(lambda x: x + t)
    first(1.0)
    t.delete()
    return first(1.0)


def another_array_is_donated(jit):
    t = table()
    return jit(lambda x: x + t, donate_argnums=0)(table())


def passed_and_not_donated(jit):
    t = table()
    return jit(lambda x: x + t)(t)


def of_numpy(jit):
    t = np.arange(64, dtype=np.float32)
    return jit(lambda x: x + t, donate_argnums=0)(t)


def small(jit):
    t = jnp.arange(4.0)
    return jit(lambda x: x + t, donate_argnums=0)(t)


def read_by_dead_code(jit):
    t = table()

    def step(x):
        x * t
        return x + 1

    return jit(step, donate_argnums=0)(t)


def keys(jit):
    k = jax.random.split(jax.random.key(0), 8)
    return jit(lambda x: jnp.concatenate([x[:4], k[4:]]), donate_argnums=0)(k)


def no_output_fits(jit):
    t = jnp.arange(64)
    return jit(lambda x: (x + t).sum() * 1.0, donate_argnums=0)(t)


def another_leaf_of_its_tree_is_taken(jit):
    t = {"w": table(), "b": table()}
    return jit(lambda p: p["w"] + t["w"] - p["b"], donate_argnums=0)(t)


def passed_twice(jit):
    t = table()
    return jit(lambda x, y: x + y, donate_argnums=0)(t, t)


def passed_twice_by_another_array_on_its_buffer(jit):
    t = table()
    return jit(lambda x, y: x + y, donate_argnums=0)(t, jax.device_put(t, jax.devices()[0]))


CASES = {name: each for name, each in vars().items() if getattr(each, "__code__", None)}
del CASES["table"]


def works(case, jit):
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Some donated buffers were not usable")
        try:
            jax.block_until_ready(case(jit))
        except (ValueError, RuntimeError):
            return False
    return True


def of_file(file):
    def call(jit):
        fun, args = runpy.run_path(file)["program"]()
        return (fun if hasattr(fun, "lower") else jit(fun))(*args)

    return call


if __name__ == "__main__":
    cases = CASES | {file: of_file(file) for file in sys.argv[1:]}
    print(json.dumps({name: works(case, jax.jit) for name, case in cases.items()}))
