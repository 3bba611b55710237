"""A serialized executable does not contain the arrays that it captured, and cannot be called.

kind: fails
off: [1. 2. 3.]
on: NotImplementedError: serialize_executables with const_args
who: servers that load compiled programs with jax.experimental.serialize_executable
from: "Handling of closed-over constants": whoever deserializes has to pass the const args
code: jax/experimental/serialize_executable.py, serialize: refuses const args, with a TODO
way round: pass the arrays as arguments, or compile again
"""

import jax
import jax.numpy as jnp
from jax.experimental import serialize_executable

table = jnp.arange(1000.0)
compiled = jax.jit(lambda x: x + table).lower(table).compile()
loaded = serialize_executable.deserialize_and_load(*serialize_executable.serialize(compiled))
print(loaded(jnp.ones(1000))[:3])
