"""Bodies are visited twice, or closed jaxprs are taken for open ones.

From JAX 0.11.0 on `Jaxpr` and `ClosedJaxpr` are one class: both conditions hold, and the order in
which they are asked decides what is done.

Ask for one thing that both have; `getattr(body, "consts", [])` are the arrays.
"""

import jax
from jax.extend.core import ClosedJaxpr, Jaxpr

[eqn] = jax.make_jaxpr(jax.jit(lambda x: x + 1))(1.0).eqns
found = []

# -- breaks
for value in eqn.params.values():
    if isinstance(value, ClosedJaxpr):
        found.append(value.jaxpr)
    if isinstance(value, Jaxpr):
        found.append(value)
print(len(found))

# -- fixed
found += [getattr(each, "jaxpr", each) for each in eqn.params.values() if hasattr(each, "eqns")]
print(len(found))
