"""One of two processes: capture an array that spans both, and call the program in three ways.

The arguments are the number of the process, the port of the coordinator, and the side.
"""

import sys

import jax
import numpy as np
from jax.sharding import AxisType, NamedSharding, PartitionSpec

import engine

process, port, side = int(sys.argv[1]), sys.argv[2], sys.argv[3]
jax.config.update("jax_cpu_collectives_implementation", "gloo")
jax.distributed.initialize(f"127.0.0.1:{port}", 2, process, initialization_timeout=60)
print("initialized", file=sys.stderr)

mesh = jax.make_mesh((4,), ("i",), axis_types=(AxisType.Auto,))
sharding = NamedSharding(mesh, PartitionSpec("i"))
values = np.arange(64, dtype=np.float32)
captured = jax.make_array_from_callback((64,), sharding, lambda i: values[i])
x = jax.make_array_from_callback((64,), sharding, lambda i: np.ones(64, np.float32)[i])
f = engine.jit(lambda x: (x + captured).sum(), constants=side)
try:
    print([float(f(x)), float(f(x)), float(f.lower(x).compile()(x))], len(f.lower(x).const_args))
except RuntimeError as error:
    print(error)
jax.distributed.shutdown()
