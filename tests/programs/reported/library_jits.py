"""Programs jitted by Flax and Equinox, as their users write them."""

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
    return s * 2 + STATE


@program
def nnx_static():
    return nnx.jit(fold, static_argnums=1), (jnp.ones(64), 4)


@program
def nnx_donates():
    return nnx.jit(step, donate_argnums=0), (STATE,)


class Scale(nnx.Module):
    def __init__(self):
        self.scale = nnx.Param(jnp.ones(64))

    @nnx.jit
    def train(self, x):
        self.scale[...] -= x * TABLE


@program
def nnx_method_updates():
    return Scale().train, (jnp.ones(64),)


class Layer(eqx.Module):
    weight: jax.Array
    activation: object

    def __call__(self, x, n):
        return self.activation(fold(x * self.weight, n))


@program
def eqx_module():
    return eqx.filter_jit(lambda layer, x, n: layer(x, n)), (Layer(TABLE, jax.nn.relu), TABLE, 4)


@program
def eqx_vmap_donates():
    return eqx.filter_vmap(eqx.filter_jit(lambda s: s + STATE.sum(), donate="all")), (STATE,)
