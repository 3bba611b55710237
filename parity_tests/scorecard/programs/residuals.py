"""The residuals of a linearized function are in its equations, and not its consts any more.

kind: tools
off: 1 const
on: 0 consts
who: code that reads, offloads or checkpoints residuals in the consts of a linearized jaxpr
from: jax-ml/jax#29882: arrays are kept in the equations that use them
by design: captured arrays are in Literals: this is the change itself
way round: take them from the leaves of the function that jax.linearize returns, a pytree
"""

import jax
import jax.numpy as jnp

x = jnp.ones(1000)
_, linear = jax.linearize(jnp.sin, x)
count = len(jax.make_jaxpr(linear)(x).consts)
print(count, "const" if count == 1 else "consts")
