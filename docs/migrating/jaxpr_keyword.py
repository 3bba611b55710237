"""`ClosedJaxpr` is made with the keyword `jaxpr`.

From JAX 0.11.0 on `ClosedJaxpr` is another name of `Jaxpr`, whose constructor has no such keyword.

Pass both by position; `constparity lint --fix` does so (CP205).
"""

import jax
import jax.extend.core

closed_jaxpr = jax.make_jaxpr(lambda x: x + 1)(1.0)

# -- breaks
again = jax.extend.core.ClosedJaxpr(jaxpr=closed_jaxpr.jaxpr, consts=closed_jaxpr.consts)
print(len(again.eqns))

# -- fixed
again = jax.extend.core.ClosedJaxpr(closed_jaxpr.jaxpr, closed_jaxpr.consts)
print(len(again.eqns))
