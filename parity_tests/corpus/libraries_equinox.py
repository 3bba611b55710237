"""Equinox: a model is a tree of arrays and functions, and closing over it is the usual mistake."""

import equinox as eqx
import jax
import jax.numpy as jnp

from parity_tests.corpus._values import batch, fill
from parity_tests.program import program


def _mlp():
    def make():
        return eqx.nn.MLP(8, 4, width_size=64, depth=2, key=jax.random.key(0))

    return fill(eqx.filter_eval_shape(make), seed=70)


@program
def equinox_mlp():
    """An `eqx.nn.MLP` captured whole and mapped over a batch."""
    model = _mlp()

    def predict(x):
        return jax.vmap(model)(x)

    return predict, (batch(71, 16, 8),)


@program
def equinox_filter_jit_inside():
    """A captured model handed to a function under `eqx.filter_jit`."""
    model = _mlp()

    @eqx.filter_jit
    def apply(model, x):
        return jax.vmap(model)(x)

    def predict(x):
        return apply(model, x)

    return predict, (batch(72, 16, 8),)


@program
def equinox_partition():
    """`eqx.partition`: the parameters are the argument, the rest and the data are captured."""
    parameters, static = eqx.partition(_mlp(), eqx.is_array)
    inputs, targets = jnp.asarray(batch(73, 32, 8)), jnp.asarray(batch(74, 32, 4))

    def gradient(parameters):
        def loss(parameters):
            model = eqx.combine(parameters, static)
            return jnp.mean((jax.vmap(model)(inputs) - targets) ** 2)

        return jax.value_and_grad(loss)(parameters)

    return gradient, (parameters,)


@program
def equinox_frozen_layers():
    """Fine-tuning: the last layer is the argument, the frozen layers are captured."""
    model = _mlp()
    trainable = eqx.tree_at(
        lambda tree: (tree.layers[-1].weight, tree.layers[-1].bias),
        jax.tree.map(lambda _: False, model),
        replace=(True, True),
    )
    tuned, frozen = eqx.partition(model, trainable)

    def gradient(tuned, x):
        @eqx.filter_grad
        def loss(tuned):
            return jnp.sum(jax.vmap(eqx.combine(tuned, frozen))(x) ** 2)

        return loss(tuned)

    return gradient, (tuned, batch(75, 16, 8))


@program
def equinox_gru_scan():
    """A captured `eqx.nn.GRUCell` in the body of a scan."""

    def make():
        return eqx.nn.GRUCell(8, 16, key=jax.random.key(0))

    cell = fill(eqx.filter_eval_shape(make), seed=76)

    def run(inputs):
        def step(hidden, x):
            hidden = cell(x, hidden)
            return hidden, hidden

        return jax.lax.scan(step, jnp.zeros(16), inputs)

    return run, (batch(77, 10, 8),)
