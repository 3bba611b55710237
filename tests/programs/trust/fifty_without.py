"""Fifty programs that a flip of JAX's default leaves alone, most beside one that it does not."""

import os
import time

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.experimental import io_callback
from jax.extend import core

from parity_tests import program

RANDOM = np.random.default_rng(0)
WEIGHTS = jnp.asarray(RANDOM.random((16, 16), np.float32))
LARGE = jnp.asarray(RANDOM.random(400_000, np.float32))
X = RANDOM.random((4, 16), np.float32)
SCALAR = jax.ShapeDtypeStruct((), np.float32)


def model(x):
    return jnp.tanh(x @ WEIGHTS)


# -- programs over captured arrays: values, types and structure ------------------------------------

OF_CAPTURED_ARRAYS = {
    "scaled": lambda x: model(x) * 1.001,
    "one_element": lambda x: model(x).at[2, 3].add(0.01),
    "bools": lambda x: (x > 0.5, model(x)),
    "complex_numbers": lambda x: (model(x) + 1j).conj(),
    "indices": lambda x: jnp.argsort(model(x), axis=1),
    "key": lambda x: model(x) + jax.random.normal(jax.random.key(0), x.shape),
    "narrower": lambda x: model(x).astype(jnp.bfloat16),
    "weak": lambda x: (model(x).sum(), jnp.sin(1.0)),
    "tree": lambda x: {"y": model(x), "x": [x, (x, None)]},
    "many_leaves": lambda x: {f"layer_{number}": model(x) + number for number in range(20)},
    "not_a_number": lambda x: jnp.where(x > 0.5, jnp.nan, model(x)),
    "infinite": lambda x: model(x) / 0.0,
    "empty": lambda x: (model(x), x[:0]),
    "constant_output": lambda x: (model(x), WEIGHTS),
    "captured_alone": lambda x: WEIGHTS,
    "captured_twice": lambda x: x @ WEIGHTS @ WEIGHTS,
    "view_of_captured": lambda x: x * WEIGHTS[:4] + WEIGHTS.T[:4],
    "gradient": jax.grad(lambda x: model(x).sum()),
    "hessian_product": lambda x: jax.jvp(jax.grad(lambda y: model(y).sum()), (x,), (x,))[1],
    "mapped": jax.vmap(lambda row: jnp.tanh(row @ WEIGHTS)),
    "checkpointed": jax.grad(jax.checkpoint(lambda x: model(x).sum())),
    "inner_jit": lambda x: jax.jit(model)(x) + jax.jit(model)(x + 1),
    "scan": lambda x: lax.scan(lambda c, _: (jnp.tanh(c @ WEIGHTS), c.sum()), x, None, 5),
    "while_loop": lambda x: lax.while_loop(lambda c: c.sum() > 1, lambda c: c * 0.5, model(x)),
    "branches": lambda x: lax.cond(x[0, 0] > 0.5, lambda y: y @ WEIGHTS, lambda y: y * 2, x),
    "many_branches": lambda x: lax.switch(1, [lambda y: y @ WEIGHTS, lambda y: y - 1], x),
    "custom_rule": lambda x: jax.nn.relu(x @ WEIGHTS),
    "softmax": lambda x: jax.nn.softmax(x @ WEIGHTS),
    "sorted_values": lambda x: jnp.sort(x @ WEIGHTS, axis=1),
    "solved": lambda x: jnp.linalg.solve(WEIGHTS + 16 * jnp.eye(16), x.T),
    "fourier": lambda x: jnp.abs(jnp.fft.fft(x @ WEIGHTS)),
    "einsum": lambda x: jnp.einsum("ij,jk,lk->il", x, WEIGHTS, WEIGHTS),
    "gathered": lambda x: WEIGHTS[jnp.argmax(x, axis=1)],
    "scattered": lambda x: WEIGHTS.at[:4].add(x).sum(),
    "numpy_captured": lambda x: x * np.float32(3) + np.arange(16, dtype=np.float32),
    "small_captured": lambda x: x * np.float32([2.0]),
    "donated_argument": jax.jit(lambda x: model(x) + x, donate_argnums=0),
    "donated_copy": jax.jit(lambda x: x @ jnp.array(WEIGHTS), donate_argnums=0),
}
globals().update(
    {name: program(name=name, args=(X,))(fun) for name, fun in OF_CAPTURED_ARRAYS.items()}
)


# -- effects, later calls, costs -------------------------------------------------------------------


def log(*values):
    """Stands for a logger."""


@program(args=(X,))
def logs(x):
    jax.debug.callback(log, x[0, 0])
    jax.debug.print("loss {}", x[0, 0])
    return model(x)


@program(args=(X,))
def logs_in_order(x):
    def body(turn, carry):
        io_callback(log, None, turn, ordered=True)
        return carry

    return lax.fori_loop(0, 4, body, model(x))


@program(args=(X,))
def waits(x):
    def wait(value):
        time.sleep(0.001)
        return value

    return jax.pure_callback(wait, SCALAR, x[0, 0]) * model(x)


@program
def counts():
    calls = iter(range(1, 10**9))

    def factor(x):
        return np.float32(next(calls) % 3)

    return (lambda x: io_callback(factor, SCALAR, x[0, 0], ordered=True) * model(x)), (X,)


@program(args=(np.asarray(LARGE),))
def much_work_on_the_argument(x):
    for _ in range(8):
        x = jnp.cos(jnp.sin(x))
    return x.max() + WEIGHTS[0]


@program(args=(np.float32(2.0),))
def moves_a_large_array(x):
    return (LARGE.reshape(1000, 400).T + x).max()


# -- code that reads jaxprs and settings as it works in both forms ---------------------------------


@program(args=(X,))
def evaluates_a_jaxpr(x):
    closed = jax.make_jaxpr(model)(x)
    return jax.core.eval_jaxpr(closed.jaxpr, closed.consts, x)[0]


@program(args=(X,))
def calls_a_jaxpr(x):
    return core.jaxpr_as_fun(jax.make_jaxpr(model)(x))(x)[0]


@program(args=(X,))
def reads_another_flag(x):
    return model(x) * (2 if jax.config.jax_enable_x64 else 1)


@program(args=(X,))
def reads_the_environment(x):
    return model(x) * (2 if "HOME_OF_NOBODY" in os.environ else 1)


@program(args=(X,))
def counts_equations(x):
    jaxpr = jax.make_jaxpr(lambda y: lax.sin(lax.cos(y)))(x)
    return model(x) * len(jaxpr.eqns)


@program(args=(X,))
def counts_outputs(x):
    return model(x) * len(jax.make_jaxpr(model)(x).out_avals)
