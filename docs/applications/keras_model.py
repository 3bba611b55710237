"""Keras on JAX: a convolutional model, whose variables the jitted function captures."""

import os

os.environ["KERAS_BACKEND"] = "jax"

import jax
import jax.numpy as jnp
import keras


def program():
    """Return the inference and a batch of 2."""
    keras.utils.set_random_seed(0)
    model = keras.applications.MobileNetV2(weights=None, input_shape=(96, 96, 3), classes=10)
    trainable = [each.value for each in model.trainable_variables]
    rest = [each.value for each in model.non_trainable_variables]

    def infer(x):
        return model.stateless_call(trainable, rest, x, training=False)[0]

    return jax.jit(infer), (jnp.ones((2, 96, 96, 3)),)
