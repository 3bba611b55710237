"""JAX warns of captured arrays one by one, and no longer of their total.

kind: cost
off: UserWarning: A large amount of constants ...
on: no warning
who: users who capture a model of many medium arrays
from: jax-ml/jax#36975, jax-ml/jax#30682
code: jax/_src/interpreters/mlir.py: check_jaxpr_constants is for flag off, log_closed_over_constant
    for flag on
way round: none; constparity sites lists what a command captures
"""

import warnings

import jax
import jax.numpy as jnp

jax.config.update("jax_captured_constants_warn_bytes", 100_000)
layers = [jnp.full((64, 64), float(i)) for i in range(10)]  # 16 kB each
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    jax.jit(lambda x: sum(layers) @ x).lower(jnp.ones(64))
for each in caught:
    print(f"{each.category.__name__}: {each.message}")
if not caught:
    print("no warning")
