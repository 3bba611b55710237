"""A program hangs in `while isinstance(x, ClosedJaxpr)`, or recurses until Python stops it.

From JAX 0.11.0 on `Jaxpr` and `ClosedJaxpr` are one class, and `.jaxpr` of a jaxpr is itself. The
first loop has an end here, so that the page can be written; `while` has none.

Unwrap once, and ask no class.
"""

import jax
from jax.extend.core import ClosedJaxpr

jaxpr = jax.make_jaxpr(lambda x: x + 1)(1.0)

# -- breaks
for _ in range(1000):
    if not isinstance(jaxpr, ClosedJaxpr):
        break
    jaxpr = jaxpr.jaxpr
print("it never ends" if isinstance(jaxpr, ClosedJaxpr) else len(jaxpr.eqns))

# -- fixed
jaxpr = getattr(jaxpr, "jaxpr", jaxpr)
print(len(jaxpr.eqns))
