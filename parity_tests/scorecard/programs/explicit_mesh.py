"""An array on an explicit mesh is captured, and nothing else names the mesh.

kind: fails
off: ValueError: Length of device assignment 1 is not equal to the size of the mesh 2 ...
on: P('i',)
right off: P('i',)
who: programs with explicit sharding; the flip fixes it
from: "Handling of closed-over constants": const args keep their sharding
way round: call it under jax.set_mesh(mesh)
"""

import jax
import jax.numpy as jnp
from jax.sharding import AxisType, NamedSharding, PartitionSpec

jax.config.update("jax_num_cpu_devices", 2)
mesh = jax.make_mesh((2,), ("i",), axis_types=(AxisType.Explicit,))
table = jax.device_put(jnp.arange(16.0), NamedSharding(mesh, PartitionSpec("i")))
print(jax.jit(lambda x: x + table)(jnp.ones(16)).sharding.spec)
