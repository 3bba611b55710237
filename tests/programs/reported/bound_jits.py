"""Programs whose jit is bound by Python, or is within something else, as their users write them.

Stock JAX fails after the flip on each that ends in `_donates`, where its user calls it: an array
that is captured is donated.
"""

import functools

import jax
import jax.numpy as jnp

from parity_tests import program

TABLE = jnp.arange(64.0) + 1
STATE = jnp.ones(64) * 3


def fold(x, n):
    """Fold a vector; `n` has to be a Python number."""
    return x.reshape(n, -1).sum(0) * TABLE[: 64 // n]


def step(s):
    return s * 2 + STATE


donating = jax.jit(step, donate_argnums=0)


class Model:
    @functools.partial(jax.jit, static_argnums=0, donate_argnums=1)
    def update(self, s):
        return step(s)

    @classmethod
    @functools.partial(jax.jit, static_argnums=(0, 2))
    def of_class(cls, x, n):
        return fold(x, n)

    @staticmethod
    @functools.partial(jax.jit, static_argnums=1)
    def of_none(x, n):
        return fold(x, n)

    @functools.partial(jax.jit, static_argnums=(0, 2))
    def __call__(self, x, n):
        return fold(x, n)


@program
def method_donates():
    return Model().update, (STATE,)


@program
def class_method():
    return Model.of_class, (jnp.ones(64), 4)


@program
def static_method():
    return Model.of_none, (jnp.ones(64), 4)


@program
def called_object():
    return Model(), (jnp.ones(64), 4)


@program
def partial_donates():
    return functools.partial(donating, STATE), ()


@program
def captured_by_lambda_donates():
    return lambda: donating(STATE), ()


@program
def grad_donates():
    return jax.grad(lambda x: donating(x).sum()), (STATE,)


@program
def checkpoint_donates():
    return jax.checkpoint(lambda x: donating(x)), (STATE,)


@program
def vmap_donates():
    return jax.vmap(jax.jit(lambda s: s + STATE.sum(), donate_argnums=0)), (STATE,)


@program
def jit_of_donating_jit():
    """Does not donate: JAX drops what a jit within a jit donates."""
    return jax.jit(donating), (STATE,)


@program
def donates_another():
    """Donates an array of the same values, which nobody captures."""
    return lambda x: donating(x), (STATE + 0,)


@program
def partial_of_argument():
    """Passes the table as an argument: nothing is captured."""
    return functools.partial(jax.jit(lambda table, x: table * x), TABLE), (jnp.ones(64),)
