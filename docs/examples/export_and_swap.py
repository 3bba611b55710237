"""Export a classifier once, its weights beside the program, and serve other checkpoints with it.

Training goes on and the program stays: the file is loaded with the arrays of another checkpoint in
the place of its own, and no model is traced for them.
"""

import os
import tempfile

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx

import engine
from engine import export


class Classifier(nnx.Module):
    """A multilayer perceptron over pixels."""

    def __init__(self, rngs):
        self.hidden = nnx.Linear(784, 1024, rngs=rngs)
        self.out = nnx.Linear(1024, 10, rngs=rngs)

    def __call__(self, images):
        """Return the logits of images."""
        return self.out(nnx.relu(self.hidden(images)))


def weights(model):
    """Return the arrays of a model, by their names."""
    found = nnx.to_flat_state(nnx.state(model, nnx.Param))
    return {".".join(map(str, path)): value.get_value() for path, value in found}


first, later = (Classifier(nnx.Rngs(seed)) for seed in (0, 1))
images = jax.random.normal(jax.random.key(2), (32, 784))
classify = engine.jit(lambda images: first(images), constants="simplified")

with tempfile.TemporaryDirectory() as folder:
    file = os.path.join(folder, "classifier.safetensors")
    exported = export.export(classify, hoist_constants=True)(images)
    exported.save(file)
    plain = export.export(classify)(images).serialize()
    program = len(exported.program.mlir_module_serialized)
    print(f"file: {os.path.getsize(file) / 1e6:.1f} MB, its program about {program / 1e3:.1f} kB")
    print(f"without hoisting: a program of {len(plain) / 1e6:.1f} MB")

    # A number for each captured array. Which weight is it?
    names = {}
    for number, constant in enumerate(exported.constants):
        [names[number]] = [
            name for name, each in weights(first).items() if np.array_equal(each, constant)
        ]
        print(f"constant {number}: {constant.shape} {names[number]}")

    served = export.load(file)
    print("as the model says:", bool(jnp.allclose(served.call(images), first(images), atol=1e-4)))
    checkpoint = weights(later)
    swapped = {number: checkpoint[name] for number, name in names.items()}
    served = export.load(file, constants=swapped)
    print("as the later one:", bool(jnp.allclose(served.call(images), later(images), atol=1e-4)))
