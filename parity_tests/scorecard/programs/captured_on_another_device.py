"""A captured array lies on another device than an argument that is committed.

kind: fails
off: {CpuDevice(id=0)}
on: ValueError: Received incompatible devices for jitted computation. ...
who: programs on several devices whose tables lie on the default device
from: "Handling of closed-over constants": const args keep their sharding
way round: put the array where the arguments are before tracing, or capture NumPy arrays
"""

import jax
import jax.numpy as jnp

jax.config.update("jax_num_cpu_devices", 2)
x, table = (jax.device_put(jnp.arange(1000.0), device) for device in jax.devices())
print(jax.jit(lambda x: x + table)(x).devices())
