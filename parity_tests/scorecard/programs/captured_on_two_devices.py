"""Two captured arrays lie on two devices.

kind: fails
off: {CpuDevice(id=0)}
on: ValueError: Received incompatible devices for jitted computation. ...
who: models whose parameters are spread over devices by hand, and captured
from: "Handling of closed-over constants": const args keep their sharding
way round: put the arrays on one device before tracing, or capture NumPy arrays
"""

import jax
import jax.numpy as jnp

jax.config.update("jax_num_cpu_devices", 2)
a, b = (jax.device_put(jnp.arange(1000.0), device) for device in jax.devices())
print(jax.jit(lambda x: x * a + b)(jnp.ones(1000)).devices())
