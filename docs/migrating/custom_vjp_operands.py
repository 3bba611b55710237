"""The operands of `custom_vjp_call` have fixed numbers.

Before the flip captured arrays are the first operands of the equation, and `num_consts` counts
them. After it they are Literals in `call_jaxpr`. The same holds for `custom_jvp_call`. What the
rules of the derivative capture is in neither: it is met when they are traced.

Leave out as many operands as `num_consts` says.
"""

import jax
import jax.numpy as jnp

table = jnp.arange(100.0)


@jax.custom_vjp
def scaled(x):
    """Capture an array."""
    return x * table


scaled.defvjp(lambda x: (scaled(x), None), lambda _, cotangent: ((cotangent * table).sum(),))
[eqn] = jax.make_jaxpr(scaled)(1.0).eqns

# -- breaks
print(eqn.invars[1].aval.shape)

# -- fixed
print(eqn.invars[eqn.params["num_consts"] :][0].aval.shape)
