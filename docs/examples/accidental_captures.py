"""A training script that captures its data by accident, and with `--fixed` does not.

`jit(partial(f, images=images))` traces `f` with the images as captured arrays, while
`partial(jit(f), images=images)` passes them at each call. Both look alike and compute the same.
"""

import sys
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import optax

rng = np.random.default_rng(0)
prototypes = rng.normal(size=(10, 784))
labels = rng.integers(0, 10, size=4000)
images = (prototypes[labels] + 10 * rng.normal(size=(4000, 784))).astype(np.float32)
optimiser = optax.adam(1e-3)


def logits(params, images):
    """Return the logits of images."""
    hidden = jax.nn.relu(images @ params["hidden"])
    return hidden @ params["out"]


def train(params, state, images, labels):
    """Take one step of the optimiser."""

    def loss(params):
        found = logits(params, images)
        return optax.softmax_cross_entropy_with_integer_labels(found, labels).mean()

    updates, state = optimiser.update(jax.grad(loss)(params), state)
    return optax.apply_updates(params, updates), state


def accuracy(params, images, labels):
    """Return the share of images that are told right."""
    return jnp.mean(jnp.argmax(logits(params, images), axis=-1) == labels)


if "--fixed" in sys.argv:
    step = partial(jax.jit(train), images=images[:3000], labels=labels[:3000])
    score = partial(jax.jit(accuracy), images=images[3000:], labels=labels[3000:])
else:
    step = jax.jit(partial(train, images=images[:3000], labels=labels[:3000]))
    score = jax.jit(partial(accuracy, images=images[3000:], labels=labels[3000:]))

params = {"hidden": rng.normal(size=(784, 64)) * 0.03, "out": rng.normal(size=(64, 10)) * 0.03}
params = jax.tree.map(jnp.float32, params)
state = optimiser.init(params)
for _ in range(20):
    params, state = step(params, state)
print(f"accuracy about {score(params):.2f}")
