"""Exponax: a step of a spectral solver, which captures its wave numbers and coefficients."""

import exponax
import jax
import jax.numpy as jnp


def program():
    """Return a step of the vorticity on a grid of 512 x 512, and a field."""
    stepper = exponax.stepper.NavierStokesVorticity(2, 1.0, 512, 0.001, diffusivity=1e-3)
    return jax.jit(lambda field: stepper(field)), (jnp.ones((1, 512, 512)),)
