"""Programs whose two modes differ for a known reason."""

import os

import jax.numpy as jnp
import numpy as np

from parity_tests import program

SIMPLIFIED = os.environ["JAX_USE_SIMPLIFIED_JAXPR_CONSTANTS"] == "1"
W = np.random.RandomState(0).randn(64, 64).astype(np.float32)
ZEROS = np.zeros(100, np.float32)
RAMP = np.linspace(0.1, 7, 1000, dtype=np.float32)


@program(args=(np.float32(2.0),))
def folded(x):
    table = jnp.exp(jnp.asarray(RAMP))
    return table * x


@program(args=(RAMP,))
def rounded_beside_what_is_wrong(x):
    harmless = jnp.exp(jnp.asarray(RAMP)) * 2.0
    wrong = jnp.log(jnp.asarray(RAMP)) == jnp.log(x)
    return harmless, wrong


@program(args=(np.zeros(100, np.float32),))
def sign_of_a_nan(x):
    nan = jnp.asarray(ZEROS) / jnp.asarray(ZEROS)
    return jnp.where(jnp.signbit(nan), 1.0, 2.0) + x


@program(args=(RAMP,))
def equal_to_what_is_folded(x):
    same = jnp.log(jnp.asarray(RAMP)) == jnp.log(x)
    return jnp.where(same, x, 0.0)


@program(args=(np.float32(2.0),))
def other_after_folding(x):
    y = x * jnp.sum(jnp.sin(W @ W))
    return y * 1.001 if SIMPLIFIED else y


@program(args=(np.float32(2.0),))
def other_value(x):
    return x * (1.5 if SIMPLIFIED else 1.0)


@program(args=(np.float32(2.0),))
def other_bits_every_time(x):
    return x * float.fromhex("0x1." + os.urandom(5).hex())
