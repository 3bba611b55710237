"""A captured array lies on a mesh of the same devices as the argument, in another order.

kind: fails
off: P('i',)
on: ValueError: Received incompatible devices for jitted computation. ...
who: programs with two meshes, as one for data and one for a model
from: "Handling of closed-over constants": const args keep their sharding
way round: put the array on the mesh of the arguments before tracing
"""

import jax
import jax.numpy as jnp
from jax.sharding import Mesh, NamedSharding, PartitionSpec

jax.config.update("jax_num_cpu_devices", 2)
one, other = Mesh(jax.devices(), "i"), Mesh(jax.devices()[::-1], "i")
x, table = (
    jax.device_put(jnp.arange(16.0), NamedSharding(mesh, PartitionSpec("i")))
    for mesh in (one, other)
)
print(jax.jit(lambda x: x + table)(x).sharding.spec)
