"""Programs whose jit is no plain `jax.jit`, or is not outermost: as their users write them.

Each `..._donates` breaks at the flip, where its user calls it: an array that is captured is donated.
"""

import functools

import equinox as eqx
import jax
import jax.numpy as jnp
from flax import nnx

from parity_tests import program

TABLE = jnp.arange(64.0) + 1
STATE = jnp.ones(64) * 3


def fold(x, n):
    """Fold a vector; `n` has to be a Python number."""
    return x.reshape(n, -1).sum(0) * TABLE[: 64 // n]


def step(s):
    return s * STATE + TABLE


donating = jax.jit(step, donate_argnums=0)


# -- jits of libraries -----------------------------------------------------------------------------


@program
def nnx_static():
    return nnx.jit(fold, static_argnums=1), (jnp.ones(64), 4)


@program
def nnx_static_name():
    return nnx.jit(fold, static_argnames="n"), (jnp.ones(64),), {"n": 4}


@program
def nnx_donates():
    return nnx.jit(step, donate_argnums=0), (STATE,)


class Scale(nnx.Module):
    def __init__(self):
        self.scale = nnx.Param(jnp.ones(64))
        self.calls = nnx.Variable(jnp.zeros(()))

    @nnx.jit
    def __call__(self, x):
        self.calls[...] += 1
        return self.scale[...] * x * TABLE

    @functools.partial(nnx.jit, static_argnames="n")
    def folded(self, x, n):
        return fold(x * self.scale[...], n)


@program
def nnx_call_of_module():
    return Scale(), (jnp.ones(64),)


@program
def nnx_method():
    return Scale().folded, (jnp.ones(64),), {"n": 4}


@nnx.jit
def train(model, x):
    model.scale[...] -= 0.1 * x * TABLE


@program
def nnx_updates_model():
    return train, (Scale(), jnp.ones(64))


@program
def eqx_donates():
    return eqx.filter_jit(step, donate="all"), (STATE,)


class Layer(eqx.Module):
    weight: jax.Array
    activation: object
    times: int

    @eqx.filter_jit
    def __call__(self, x, n):
        return self.activation(fold(x * self.weight, n)) * self.times


@program
def eqx_module():
    return eqx.filter_jit(lambda layer, x, n: layer(x, n)), (Layer(TABLE, jax.nn.relu, 2), TABLE, 4)


@program
def eqx_method():
    return Layer(TABLE, jax.nn.relu, 2), (TABLE, 4)


def with_state(fun, static_argnums=(), donate_argnums=()):
    """Jit a function as Haiku's `hk.jit` does: the jit is in a closure, and has another argument."""
    jitted = jax.jit(
        lambda state, *args: (fun(*args), state),
        static_argnums=tuple(n + 1 for n in static_argnums),
        donate_argnums=tuple(n + 1 for n in donate_argnums),
    )

    @functools.wraps(fun)
    def wrapper(*args):
        return jitted({"calls": jnp.zeros(())}, *args)[0]

    return wrapper


@program
def wraps_static():
    return with_state(fold, static_argnums=(1,)), (jnp.ones(64), 4)


@program
def wraps_donates():
    return with_state(step, donate_argnums=(0,)), (STATE,)


# -- jax.jit, as Python binds it -------------------------------------------------------------------


class Model:
    def __init__(self, scale):
        self.scale = scale

    @functools.partial(jax.jit, static_argnums=0)
    def step(self, x):
        return x * TABLE * self.scale

    @functools.partial(jax.jit, static_argnums=0, donate_argnums=1)
    def update(self, s):
        return step(s) * self.scale

    @classmethod
    @functools.partial(jax.jit, static_argnums=0)
    def of_class(cls, x):
        return x * TABLE * len(cls.__name__)

    @staticmethod
    @functools.partial(jax.jit, static_argnums=1)
    def of_none(x, n):
        return fold(x, n)

    @functools.partial(jax.jit, static_argnums=(0, 2))
    def __call__(self, x, n):
        return fold(x * self.scale, n)


@program
def method():
    return Model(2.0).step, (jnp.ones(64),)


@program
def method_donates():
    return Model(2.0).update, (STATE,)


@program
def class_method():
    return Model.of_class, (jnp.ones(64),)


@program
def static_method():
    return Model.of_none, (jnp.ones(64), 4)


@program
def called_object():
    return Model(2.0), (jnp.ones(64), 4)


@program
def partial_donates():
    return functools.partial(donating, STATE), ()


@program
def partial_of_argument():
    """Passes the table as an argument: nothing is captured."""
    return functools.partial(jax.jit(lambda table, x: table * x), TABLE), (jnp.ones(64),)


# -- a jit within something else -------------------------------------------------------------------


@program
def lambda_donates():
    return lambda x: donating(x) + 1, (STATE,)


@program
def captured_by_lambda_donates():
    return lambda: donating(STATE), ()


@program
def vmap_donates():
    return jax.vmap(jax.jit(lambda s: s * STATE[0] + STATE.sum(), donate_argnums=0)), (STATE,)


@program
def grad_donates():
    return jax.grad(lambda x: donating(x).sum()), (STATE,)


@program
def checkpoint_donates():
    return jax.checkpoint(lambda x: donating(x)), (STATE,)


@program
def lambda_static():
    folded = jax.jit(fold, static_argnums=1)
    return lambda x, n: folded(x, n), (jnp.ones(64), 4)


@program
def jit_of_donating_jit():
    """Does not donate: JAX drops what a jit within a jit donates."""
    return jax.jit(donating), (STATE,)


@program
def donates_another():
    """Donates an array of the same values, which nobody captures."""
    return lambda x: donating(x), (STATE + 0,)
