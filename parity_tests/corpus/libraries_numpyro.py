"""NumPyro: a model that closes over its observations, seen through the library's inference."""

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
from numpyro.infer.util import log_density, potential_energy

from parity_tests.corpus._values import batch
from parity_tests.program import program


def _logistic_regression():
    inputs = jnp.asarray(batch(110, 100, 4))
    outcomes = (np.arange(100) % 3 == 0).astype(np.int32)

    def model():
        weights = numpyro.sample("weights", dist.Normal(0.0, 1.0).expand([4]).to_event(1))
        bias = numpyro.sample("bias", dist.Normal(0.0, 1.0))
        numpyro.sample("y", dist.Bernoulli(logits=inputs @ weights + bias), obs=outcomes)

    return model


def _latents():
    return {"weights": np.array([0.1, -0.2, 0.3, -0.4], np.float32), "bias": np.float32(0.5)}


@program
def numpyro_log_density():
    """The log-density of a model that closes over its inputs and outcomes."""
    model = _logistic_regression()

    def density(latents):
        value, _ = log_density(model, (), {}, latents)
        return value

    return density, (_latents(),)


@program
def numpyro_potential_gradient():
    """The potential energy that a sampler sees, and its gradient."""
    model = _logistic_regression()

    def gradient(latents):
        return jax.value_and_grad(lambda z: potential_energy(model, (), {}, z))(latents)

    return gradient, (_latents(),)


def _eight_schools():
    effects = np.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0, 5.0], np.float32)
    errors = np.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0, 13.0], np.float32)

    def model():
        mean = numpyro.sample("mean", dist.Normal(0.0, 5.0))
        spread = numpyro.sample("spread", dist.HalfCauchy(5.0))
        with numpyro.plate("schools", len(effects)):
            true_effects = numpyro.sample("true_effects", dist.Normal(mean, spread))
            numpyro.sample("y", dist.Normal(true_effects, errors), obs=effects)

    return model


@program
def numpyro_leapfrog():
    """Leapfrog steps of a sampler in a fori_loop over a hierarchical model's captured data."""
    model = _eight_schools()

    def integrate(position, momentum):
        force = jax.grad(lambda z: potential_energy(model, (), {}, z))

        def step(_, state):
            position, momentum = state
            momentum = jax.tree.map(lambda p, f: p - 0.05 * f, momentum, force(position))
            position = jax.tree.map(lambda q, p: q + 0.1 * p, position, momentum)
            momentum = jax.tree.map(lambda p, f: p - 0.05 * f, momentum, force(position))
            return position, momentum

        return jax.lax.fori_loop(0, 5, step, (position, momentum))

    position = {
        "mean": np.float32(1.0),
        "spread": np.float32(0.5),
        "true_effects": np.linspace(-1.0, 1.0, 9, dtype=np.float32),
    }
    return integrate, (position, jax.tree.map(np.ones_like, position))


@program
def numpyro_batched_density():
    """Log-densities for many draws at once: vmap over the latents of a captured model."""
    model = _logistic_regression()

    def densities(draws):
        return jax.vmap(lambda latents: log_density(model, (), {}, latents)[0])(draws)

    draws = {"weights": batch(111, 20, 4), "bias": batch(112, 20)}
    return densities, (draws,)
