"""One array that is captured inside a shard_map and beside it is passed twice.

kind: cost
off: 0 const args
on: 2 const args
right on: 1 const arg
who: programs that use one table in a shard_map and outside of it
from: "Handling of closed-over constants": const args are unique by the identity of the array
code: jax/_src/core.py, jaxpr_const_args: goes by the id of the Literal, in bodies of the array
way round: pass the array as an argument
"""

import jax
import jax.numpy as jnp
from jax.sharding import Mesh, PartitionSpec

mesh = Mesh(jax.devices(), "i")
table = jnp.sin(jnp.arange(1000.0))
specs = {"in_specs": PartitionSpec("i"), "out_specs": PartitionSpec("i")}
inside = jax.shard_map(lambda x: x * table, mesh=mesh, **specs)
text = jax.jit(lambda x: inside(x) + table).lower(table).as_text()
count = text.partition("sdy.manual_computation")[0].count("jax.const = true")
print(count, "const arg" if count == 1 else "const args")
