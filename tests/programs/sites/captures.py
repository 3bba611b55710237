"""Captures arrays in each way that `constparity sites` tells apart; each has a shape of its own."""

import sys

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend import core
from jax.interpreters import mlir

SHARED = np.ones((33, 33), "float32")
LAYERS = [jnp.full((17, 17), number, jnp.float32) for number in range(3)]
INNER = jnp.ones(41)
SHARDED = jnp.ones(43)
EXPORTED = jnp.ones(47)
EAGER = jnp.ones(53)
AGAIN = jnp.ones(59)
HELD = jnp.ones(61)
MESH = jax.make_mesh((1,), ("all",))
EVERYWHERE = jax.P()


def helper(x):
    return x @ SHARED


@jax.jit
def step(x):
    return helper(helper(x))


@jax.jit
def layers(x):
    x = helper(x)[:, :17]
    for layer in LAYERS:
        x = x @ layer
    return x


@jax.jit
def inner(x):
    return x * INNER


@jax.jit
def outer(x):
    return inner(x) + INNER


@jax.jit
def sharded(x):
    add = jax.shard_map(lambda y: y + SHARDED, mesh=MESH, in_specs=EVERYWHERE, out_specs=EVERYWHERE)
    return add(x)


@jax.jit
def exported(x):
    return x + EXPORTED


# A primitive of a library: its body can be handed no arrays, since nobody knows its params.
apply_p = core.Primitive("apply")
apply_p.def_abstract_eval(lambda x, *, body: x)
applied = mlir.lower_fun(lambda x, *, body: core.jaxpr_as_fun(body)(x)[0], multiple_results=False)
mlir.register_lowering(apply_p, applied)


@jax.jit
def held(x):
    return apply_p.bind(x, body=jax.make_jaxpr(lambda y: y + HELD)(x))


@jax.jit
def again(x):
    return x + AGAIN


def scanned(carry, _):
    return carry + EAGER, None


if "again" in sys.argv:
    again(jnp.ones(59))
    sys.exit(3)
step(jnp.ones((1, 33)))
step(jnp.ones((2, 33)))
layers(jnp.ones((1, 33)))
outer(jnp.ones(41))
sharded(jnp.ones(43))
jax.export.export(exported)(jnp.ones(47))
held(jnp.ones(61))
again(jnp.ones(59))
jax.lax.scan(scanned, jnp.ones(53), None, length=2)
