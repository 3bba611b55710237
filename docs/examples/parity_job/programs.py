"""The programs that `constparity run` compares."""

import jax.numpy as jnp
import model

from parity_tests import program


@program(args=lambda: (jnp.linspace(0.1, 0.7, 8),))
def within_budget(x):
    """Run the model within its budget."""
    return model.within_budget(x)
