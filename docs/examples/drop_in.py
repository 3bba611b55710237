"""A transformer whose weights are captured, with `engine.jit` in the place of `jax.jit`.

Code that serves a model often closes over it, because the weights never change. Legacy compiles its
50 MB of weights into the executable; simplified passes them to it.
"""

import time

import equinox as eqx
import jax
import jax.numpy as jnp

import engine

LAYERS, WIDTH, LENGTH = 4, 512, 32


class Block(eqx.Module):
    """Attention and a multilayer perceptron, each with its normalisation."""

    attention: eqx.nn.MultiheadAttention
    mlp: eqx.nn.MLP
    norms: list[eqx.nn.LayerNorm]

    def __init__(self, key):
        first, second = jax.random.split(key)
        self.attention = eqx.nn.MultiheadAttention(8, WIDTH, key=first)
        self.mlp = eqx.nn.MLP(WIDTH, WIDTH, 4 * WIDTH, depth=1, activation=jax.nn.gelu, key=second)
        self.norms = [eqx.nn.LayerNorm(WIDTH), eqx.nn.LayerNorm(WIDTH)]

    def __call__(self, x):
        """Return the activations of a sequence, after this block."""
        y = jax.vmap(self.norms[0])(x)
        x = x + self.attention(y, y, y)
        return x + jax.vmap(self.mlp)(jax.vmap(self.norms[1])(x))


blocks = [Block(key) for key in jax.random.split(jax.random.key(0), LAYERS)]


def encode(x):
    """Return the encoding of a sequence; the weights are captured."""
    for block in blocks:
        x = block(x)
    return x


x = jax.random.normal(jax.random.key(1), (LENGTH, WIDTH))
encoded = {}
for mode in engine.SIDES:
    lowered = engine.jit(encode, constants=mode).lower(x)
    begin = time.perf_counter()
    compiled = lowered.compile()
    seconds = time.perf_counter() - begin
    passed = sum(array.nbytes for array in lowered.const_args)
    executable = len(engine.serialize_executable.serialize(compiled))
    print(f"{mode}: {len(lowered.const_args)} const args of {passed / 1e6:.1f} MB")
    print(f"  compiled in {seconds:.2f} s, executable of {executable / 1e6:.1f} MB")
    encoded[mode] = compiled(x)
difference = jnp.max(jnp.abs(encoded["legacy"] - encoded["simplified"]))
print("the encodings agree:", bool(difference < 1e-4))
