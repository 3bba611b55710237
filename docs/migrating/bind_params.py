"""The result of `get_bind_params` is taken for a pair.

JAX 0.10.2 and newer return one dict, with any functions in it. Older ones return a pair.

Take both.
"""

import jax

[eqn] = jax.make_jaxpr(jax.jit(lambda x: x + 1))(1.0).eqns

# -- breaks
functions, params = eqn.primitive.get_bind_params(eqn.params)
print(eqn.primitive.bind(*functions, 1.0, **params))

# -- fixed
found = eqn.primitive.get_bind_params(eqn.params)
functions, params = found if isinstance(found, tuple) else ((), found)
print(eqn.primitive.bind(*functions, 1.0, **params))
