"""Flax in both of its interfaces: Linen captures variables, NNX captures the module itself."""

import jax
import jax.numpy as jnp
import numpy as np
from flax import linen, nnx

from parity_tests.corpus._values import batch, fill
from parity_tests.program import program


class _LinenMLP(linen.Module):
    @linen.compact
    def __call__(self, x):
        x = linen.relu(linen.Dense(64)(x))
        x = linen.LayerNorm()(x)
        return linen.Dense(4)(x)


def _linen_variables(model, x, seed):
    return fill(jax.eval_shape(model.init, jax.random.key(0), x), seed)


@program
def linen_mlp():
    """A Linen model applied with captured variables."""
    model, x = _LinenMLP(), batch(80, 16, 8)
    variables = _linen_variables(model, x, seed=81)

    def predict(x):
        return model.apply(variables, x)

    return predict, (x,)


@program
def linen_bound_module():
    """A Linen module bound to its variables, which thereby hides them."""
    model, x = _LinenMLP(), batch(82, 16, 8)
    bound = model.bind(_linen_variables(model, x, seed=83))

    def predict(x):
        return bound(x)

    return predict, (x,)


class _LinenConvNet(linen.Module):
    @linen.compact
    def __call__(self, x):
        x = linen.Conv(8, (3, 3))(x)
        x = linen.BatchNorm(use_running_average=True)(x)
        x = linen.avg_pool(linen.relu(x), (2, 2), (2, 2))
        return linen.Dense(4)(x.reshape(x.shape[0], -1))


@program
def linen_batch_norm():
    """A convolutional Linen model with captured running statistics, for inference."""
    model, x = _LinenConvNet(), batch(84, 2, 8, 8, 3)
    variables = jax.tree.map(jnp.abs, _linen_variables(model, x, seed=85))

    def predict(x):
        return model.apply(variables, x)

    return predict, (x,)


@program
def linen_frozen_backbone():
    """The gradient of a captured Linen model with respect to its input."""
    model, x = _LinenMLP(), batch(86, 16, 8)
    variables = _linen_variables(model, x, seed=87)

    def saliency(x):
        return jax.grad(lambda x: jnp.sum(model.bind(variables)(x) ** 2))(x)

    return saliency, (x,)


class _NnxMLP(nnx.Module):
    def __init__(self, rngs):
        self.hidden = nnx.Linear(8, 64, rngs=rngs)
        self.norm = nnx.LayerNorm(64, rngs=rngs)
        self.out = nnx.Linear(64, 4, rngs=rngs)

    def __call__(self, x):
        return self.out(self.norm(nnx.relu(self.hidden(x))))


def _nnx_graph_and_state(seed):
    graph, state = nnx.split(nnx.eval_shape(lambda: _NnxMLP(nnx.Rngs(0))))
    return graph, fill(state, seed)


@program
def nnx_module():
    """An NNX module captured whole, as a Python object full of variables."""
    model = nnx.merge(*_nnx_graph_and_state(seed=88))

    def predict(x):
        return model(x)

    return predict, (batch(89, 16, 8),)


@program
def nnx_split_state():
    """An NNX module split outside: its graph and its state are captured, and merged inside."""
    graph, state = _nnx_graph_and_state(seed=90)

    def predict(x):
        return nnx.merge(graph, state)(x)

    return predict, (batch(91, 16, 8),)


@program
def nnx_loss_over_captured_data():
    """The gradient of an NNX model whose state is the argument and whose data are captured."""
    graph, state = _nnx_graph_and_state(seed=92)
    inputs, labels = jnp.asarray(batch(93, 32, 8)), np.arange(32, dtype=np.int32) % 4

    def gradient(state):
        def loss(state):
            scores = jax.nn.log_softmax(nnx.merge(graph, state)(inputs))
            return -jnp.mean(jnp.take_along_axis(scores, labels[:, None], axis=1))

        return jax.grad(loss)(state)

    return gradient, (state,)
