"""The inputs of `trace_to_jaxpr_dynamic` are paired with own ones.

It is a private function. From JAX 0.11.1 on the captured arrays of its jaxpr lead `invars`, while
the flag is off; until 0.11.0, and after the flip, they do not. It broke NumPyro
([libraries that broke](../understand/libraries_that_broke.md)).

Trace with `jax.make_jaxpr`, whose `jaxpr.invars` are the arguments in every release and form.
"""

import jax
import jax.numpy as jnp
from jax.api_util import debug_info, safe_map
from jax.extend import linear_util
from jax.interpreters import partial_eval


def checked(names, variables):
    """Return pairs, as many libraries make them."""
    both = [len(variables), len(names)]
    assert both[0] == both[1], f"length mismatch: {both}"
    return list(zip(names, variables, strict=True))


def scaled(x):
    """Capture an array."""
    return [x * table]


table, args = jnp.arange(5.0), [jnp.float32(1)]
info = debug_info("scaled", scaled, args, {})
wrapped = linear_util.wrap_init(scaled, debug_info=info)
jaxpr, *_ = partial_eval.trace_to_jaxpr_dynamic(wrapped, [jax.typeof(each) for each in args])

# -- breaks
print(len(checked(["x"], jaxpr.invars)))
# -- or
print(len(safe_map(lambda name, variable: name, ["x"], jaxpr.invars)))

# -- fixed
invars = jax.make_jaxpr(scaled)(*args).jaxpr.invars
print(len(checked(["x"], invars)))
print(len(safe_map(lambda name, variable: name, ["x"], invars)))
