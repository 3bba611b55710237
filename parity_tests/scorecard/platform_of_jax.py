"""Print the platform of JAX's first device; this is run as a file, as the programs are."""

import jax

print(jax.devices()[0].platform)
