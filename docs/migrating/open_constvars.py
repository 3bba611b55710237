"""An interpreter does not know a variable of an open jaxpr.

A jaxpr that was made with `constvars` and without values has them in `.constvars` until JAX
0.11.0. From 0.11.1 on `.constvars` are those with values: here it is empty, and the variables lead
`.invars`.

Take both as one list, which is the same in every release.
"""

import jax
from jax.extend.core import Jaxpr

closed_jaxpr = jax.make_jaxpr(lambda outer, x: outer * x)(2.0, 3.0)
outer, x = closed_jaxpr.jaxpr.invars
[eqn] = closed_jaxpr.eqns
body = Jaxpr(constvars=[outer], invars=[x], outvars=closed_jaxpr.jaxpr.outvars, eqns=[eqn])

# -- breaks
env = dict(zip(body.constvars, [2.0])) | dict(zip(body.invars, [3.0]))
print([env[atom] for atom in eqn.invars])

# -- fixed
env = dict(zip([*body.constvars, *body.invars], [2.0, 3.0], strict=True))
print([env[atom] for atom in eqn.invars])
