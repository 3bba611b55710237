"""An array over several processes is captured.

kind: fails
off: ... RuntimeError: Closing over jax.Array that spans non-addressable ... is not allowed. ...
on: [1. 2. 3.]
right off: [1. 2. 3.]
who: programs on several hosts; the flip mends it
from: jax-ml/jax#22218
way round: pass the array as an argument
"""

import socket
import subprocess
import sys

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec


def process(number, port):
    """Be one of two processes."""
    jax.config.update("jax_cpu_collectives_implementation", "gloo")
    jax.distributed.initialize(f"localhost:{port}", 2, number)
    halves = NamedSharding(Mesh(jax.devices(), "i"), PartitionSpec("i"))
    own = np.arange(1000, dtype=np.float32)
    table = jax.make_array_from_process_local_data(halves, own)
    x = jax.make_array_from_process_local_data(halves, np.ones_like(own))
    print(jax.jit(lambda x: x + table)(x).addressable_data(0)[:3])


if len(sys.argv) == 3:
    process(*map(int, sys.argv[1:]))
else:
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = free.getsockname()[1]
    commands = [[sys.executable, __file__, str(number), str(port)] for number in (0, 1)]
    first, second = (
        subprocess.Popen(each, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for each in commands
    )
    printed, said = first.communicate()
    second.communicate()
    errors = [line for line in said.splitlines() if line.startswith("RuntimeError: ")]
    print(printed or "\n".join(errors) or said, end="")
