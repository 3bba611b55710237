"""Optax: training steps that close over the data set, the schedule or the frozen parameters."""

import jax
import jax.numpy as jnp
import numpy as np
import optax

from parity_tests.corpus._values import batch
from parity_tests.program import program


def _parameters():
    return {"weights": batch(100, 8, 4) * 0.3, "bias": np.zeros(4, np.float32)}


def _data():
    return jnp.asarray(batch(101, 64, 8)), np.arange(64, dtype=np.int32) % 4


def _loss(parameters, inputs, labels):
    scores = inputs @ parameters["weights"] + parameters["bias"]
    losses = optax.softmax_cross_entropy_with_integer_labels(scores, labels)
    return jnp.mean(losses)


@program
def optax_adam_step():
    """One step of Adam over a captured data set; parameters and state are arguments."""
    optimizer = optax.adam(1e-2)
    inputs, labels = _data()

    def step(parameters, state):
        loss, gradient = jax.value_and_grad(_loss)(parameters, inputs, labels)
        updates, state = optimizer.update(gradient, state, parameters)
        return optax.apply_updates(parameters, updates), state, loss

    parameters = _parameters()
    return step, (parameters, optimizer.init(parameters))


@program
def optax_training_loop():
    """A whole training run inside one scan: batches are cut out of the captured data set."""
    optimizer = optax.chain(
        optax.clip_by_global_norm(1.0),
        optax.sgd(optax.cosine_decay_schedule(0.5, 8), momentum=0.9),
    )
    inputs, labels = _data()

    def train(parameters):
        def step(carry, i):
            parameters, state = carry
            rows = jax.lax.dynamic_slice_in_dim(inputs, 8 * i, 8)
            targets = jax.lax.dynamic_slice_in_dim(jnp.asarray(labels), 8 * i, 8)
            loss, gradient = jax.value_and_grad(_loss)(parameters, rows, targets)
            updates, state = optimizer.update(gradient, state, parameters)
            return (optax.apply_updates(parameters, updates), state), loss

        (parameters, _), losses = jax.lax.scan(
            step, (parameters, optimizer.init(parameters)), jnp.arange(8)
        )
        return parameters, losses

    return train, (_parameters(),)


@program
def optax_captured_state():
    """A step that closes over parameters and optimizer state, as a script on one page does."""
    optimizer = optax.adamw(1e-2)
    parameters = jax.tree.map(jnp.asarray, _parameters())
    state = optimizer.init(parameters)

    def step(inputs, labels):
        gradient = jax.grad(_loss)(parameters, inputs, labels)
        updates, new_state = optimizer.update(gradient, state, parameters)
        return optax.apply_updates(parameters, updates), new_state

    return step, (batch(102, 16, 8), np.arange(16, dtype=np.int32) % 4)
