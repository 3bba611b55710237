"""Print as JSON what becomes of programs on both stock sides, with JAX's flag in this state.

With the argument "set at run time" the flag is set after JAX is imported, before any program is
traced. The tester is imported after that, as it was when JAX's third pipeline was found.
"""

import json
import sys

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
from jax import lax

if sys.argv[1] == "set at run time":
    jax.config.update("jax_use_simplified_jaxpr_constants", True)

from parity_tests.observe import measure
from parity_tests.program import from_function, program

CAPTURED = {
    "a jax.Array": jnp.arange(77.0),
    "a NumPy array": np.arange(77, dtype=np.float32),
    "an array that MLIR cannot read back": np.arange(77, dtype=ml_dtypes.bfloat16),
}


def programs(table):
    yield "used", lambda x: x * table
    yield "returned", lambda x: table
    yield "in a branch", lambda x: lax.cond(x > 0, lambda: table + table, lambda: table)
    yield "in a jit", lambda x: jax.jit(lambda y: y + table)(x)


found = {}
for kind, table in CAPTURED.items():
    for use, fun in programs(table):
        marked = from_function(program(args=(np.float32(2.0),))(fun), "here:fun")
        for side in ("jax-legacy", "jax-simplified"):
            failure = measure.measure(marked, side).observation.failure
            found[f"{kind}, {use}, {side}"] = failure.kind if failure else "accepted"
print(json.dumps(found))
