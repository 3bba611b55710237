"""The text of a lowered module is searched for its constants.

No error, and another answer. A captured array is no `stablehlo.constant` any more, and the first
arguments of `@main` are captured arrays.

Count the arguments that JAX marks with `jax.const` beside the constants.
"""

import jax
import jax.numpy as jnp

table = jnp.arange(1000.0)
text = jax.jit(lambda x: x + table).lower(1.0).as_text()

# -- breaks
print(text.count('stablehlo.constant dense<"0x'))

# -- fixed
print(text.count('stablehlo.constant dense<"0x') + text.count("jax.const = true"))
