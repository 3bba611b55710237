"""`--constparity=jax-both`: a suite in fresh processes of stock JAX, compared test by test."""
