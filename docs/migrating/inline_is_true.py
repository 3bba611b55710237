"""`inline` of a jitted call is taken for true or false.

From JAX 0.11.0 on it is a member of the enum `jax.Inline`, and each of them counts as true. It
broke quax, 578 of its tests ([libraries that broke](../understand/libraries_that_broke.md)).

Compare with the member that stands for the old True; `constparity lint --fix` does so (CP207).
"""

import jax

[eqn] = jax.make_jaxpr(jax.jit(lambda x: x + 1))(1.0).eqns
inline = eqn.params["inline"]

# -- breaks
print("inlined" if inline else "called")

# -- fixed
print("inlined" if inline is True or getattr(inline, "name", "") == "JAX_EARLY" else "called")
