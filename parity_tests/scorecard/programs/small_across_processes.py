"""An array of at most 32 bytes over several processes is captured: the flip inlines it as before.

kind: fails
off: RuntimeError: Closing over jax.Array that spans non-addressable ... is not allowed. ...
on: RuntimeError: Closing over jax.Array that spans non-addressable ... is not allowed. ...
right off: [1. 2. 3.]
who: programs on several hosts
from: jax-ml/jax#22218; jax-ml/jax#36974, the embed threshold
way round: pass the array as an argument
"""

import os
import socket

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

with socket.socket() as free:
    free.bind(("localhost", 0))
    address = "localhost:{1}".format(*free.getsockname())


def process(number):
    """Be one of two processes."""
    jax.config.update("jax_cpu_collectives_implementation", "gloo")
    jax.distributed.initialize(address, 2, number)
    halves = NamedSharding(Mesh(jax.devices(), "i"), PartitionSpec("i"))
    own = np.arange(4, dtype=np.float32)
    table = jax.make_array_from_process_local_data(halves, own)
    x = jax.make_array_from_process_local_data(halves, np.ones_like(own))
    return jax.jit(lambda x: x + table)(x).addressable_data(0)[:3]


if os.fork() == 0:
    try:
        process(1)
    finally:
        os._exit(0)
print(process(0))
