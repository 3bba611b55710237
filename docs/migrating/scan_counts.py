"""`num_consts` and `num_carry` of `scan` are read.

From JAX 0.11.0 on an equation of `scan` has `ft_in` and `ft_out` instead.

Ask which is there; `constparity lint --fix` writes such a line (CP204).
"""

import jax
import jax.numpy as jnp


def sums(y, xs):
    """Use a value of outside in the body of a loop."""
    return jax.lax.scan(lambda carry, x: (carry + x * y, carry), 0.0, xs)


[eqn] = jax.make_jaxpr(sums)(2.0, jnp.arange(3.0)).eqns

# -- breaks
print(eqn.params["num_consts"])
# -- or
print(eqn.params["num_carry"])


# -- fixed
def counts(params):
    """Return how many operands are constants, and how many the carry."""
    if "num_consts" in params:
        return params["num_consts"], params["num_carry"]
    consts, carry, _ = params["ft_in"].unpack()
    return len(consts), len(carry)


print(*counts(eqn.params), sep="\n")
