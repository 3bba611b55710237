"""What users do with a library, as programs to prove: `constparity prove library_programs.py`.

Here these are Equinox, Optax and NumPyro. A program is what users would jit, with the arrays that
they would capture. None is compiled or run, so a batch may be a shape.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import optax

from parity_tests import program

X = jnp.linspace(0.1, 0.7, 64)
mlp = eqx.nn.MLP(64, 64, 64, depth=2, key=jax.random.key(0))
lstm = eqx.nn.LSTMCell(64, 64, key=jax.random.key(1))
observed = np.random.default_rng(0).normal(size=1024).astype(np.float32)


@program(args=(jax.ShapeDtypeStruct((100_000, 64), "float32"),))
def infer(batch):
    """Run a model that is captured, on a batch that need not be here."""
    return jax.vmap(mlp)(batch)


@program(args=(X,))
def unroll(x):
    """Scan a cell that is captured."""

    def turn(state, _):
        state = lstm(x, state)
        return state, state[0]

    return jax.lax.scan(turn, (jnp.zeros(64), jnp.zeros(64)), length=20)


@program(args=(0.5 * X,))
def finetune(bias):
    """Differentiate one parameter of a model that is frozen otherwise."""
    return jax.grad(lambda bias: optax.l2_loss(mlp(X) + bias, X).mean())(bias)


@program(args=(0.3, 1.2))
def log_density(mean, scale):
    """Return the density of data that is captured, as a sampler asks for it."""
    return dist.Normal(mean, scale).log_prob(observed).sum()
