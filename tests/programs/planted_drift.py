"""Programs whose two modes differ for a known reason."""

import os

import jax.numpy as jnp
import numpy as np

from parity_tests import program

SIMPLIFIED = os.environ["JAX_USE_SIMPLIFIED_JAXPR_CONSTANTS"] == "1"
W = np.random.RandomState(0).randn(64, 64).astype(np.float32)


@program(args=(np.ones(64, np.float32),))
def folded(x):
    gram = W.T @ jnp.asarray(W) + jnp.eye(64)
    return (gram @ gram) @ x


@program(args=(np.float32(2.0),))
def a_bug_after_folding(x):
    y = x * jnp.sum(jnp.sin(W @ W))
    return y * 1.001 if SIMPLIFIED else y


@program(args=(np.float32(2.0),))
def other_value(x):
    return x * (1.5 if SIMPLIFIED else 1.0)


@program(args=(np.float32(2.0),))
def other_bits_every_time(x):
    return x * float.fromhex("0x1." + os.urandom(5).hex())
