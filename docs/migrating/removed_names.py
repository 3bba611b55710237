"""A name of `jax.core` or `jax.extend.core` is gone.

JAX 0.11.0 removed most names of `jax.core`, such as `gensym`, `DropVar`, `concrete_or_error` and
`new_jaxpr_eqn`, and 0.11.1 `CallPrimitive` of `jax.extend.core`.

Take them from `jax.extend.core`, which has them from 0.10.2 on; `constparity lint --fix` does so
(CP203). Nothing public takes the place of `CallPrimitive`: ask for the body that such an equation
has.
"""

import jax
import jax.extend.core

[eqn] = jax.make_jaxpr(lambda x: x + 1)(1.0).eqns

# -- breaks
print(callable(jax.core.new_jaxpr_eqn))
# -- or
print(callable(jax.core.concrete_or_error))
# -- or
from jax.core import gensym

print(callable(gensym))
# -- or
from jax.core import DropVar

print(DropVar.__name__)
# -- or
from jax.extend.core import CallPrimitive

print(isinstance(eqn.primitive, CallPrimitive))

# -- fixed
from jax.extend.core import DropVar, concrete_or_error, gensym, new_jaxpr_eqn

print(*map(callable, (new_jaxpr_eqn, concrete_or_error, gensym)), sep="\n")
print(DropVar.__name__)
print("call_jaxpr" in eqn.params)
