"""Programs with a `jax.jit` of their own, whose options are kept on every side."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import PartitionSpec as P

from parity_tests import program

WEIGHTS = np.linspace(0.0, 1.0, 40, dtype=np.float32)
STATE = jnp.linspace(0.0, 2.0, 40)


@program(args=(STATE, jnp.ones(40)))
@functools.partial(jax.jit, donate_argnums=0)
def captured_and_donated(state, x):
    return state * 2 + x, STATE.sum()


@program(args=(STATE, jnp.ones(40)))
@functools.partial(jax.jit, donate_argnums=0, keep_unused=True)
def donated_and_kept_unread(state, x):
    return x, STATE * 2


@program(args=lambda: (jnp.ones(40), jnp.ones(40)))
@functools.partial(jax.jit, donate_argnums=0)
def donated_alone(state, x):
    return state * 2 + x, STATE.sum()


@program(args=lambda: ({"a": jnp.ones(40)}, np.float32(2)), kwargs={"power": 3})
@functools.partial(jax.jit, donate_argnames="state", static_argnames="power")
def donated_and_static(state, x, *, power):
    factor = 2.0 if power > 2 else 1.0
    return {"a": state["a"] * factor * WEIGHTS}, x**power


@program(args=("double", jnp.ones(3), 4))
@functools.partial(jax.jit, static_argnums=(0, -1))
def static_first_and_last(kind, x, times):
    for _ in range(times):
        x = x * {"double": 2.0}[kind]
    return x + STATE.sum()


@program
def sharded():
    mesh = jax.make_mesh((1,), ("x",))
    spec = jax.sharding.NamedSharding(mesh, P("x"))
    return jax.jit(lambda x: x * STATE, in_shardings=spec, out_shardings=spec), (jnp.ones(40),)


@program(args=(jnp.ones(40),))
@jax.jit
def plain(x):
    return x * STATE
