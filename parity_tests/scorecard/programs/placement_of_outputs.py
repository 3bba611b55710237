"""Captured arrays decide on which device a function runs, which arguments decided alone.

kind: placement
off: {CpuDevice(id=0)}
on: {CpuDevice(id=1)}
who: programs on several devices with arguments that are not committed, as NumPy arrays are
from: "Handling of closed-over constants": const args keep their sharding
way round: commit the arguments, jax.device_put(x, device), or capture NumPy arrays
"""

import jax
import jax.numpy as jnp

jax.config.update("jax_num_cpu_devices", 2)
table = jax.device_put(jnp.arange(1000.0), jax.devices()[1])
print(jax.jit(lambda x: x + table)(jnp.ones(1000)).devices())
