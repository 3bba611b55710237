"""A module that asks XLA for three devices when it is imported, as many programs do."""

import os

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=3"

import jax
import numpy as np
from jax.sharding import NamedSharding, PartitionSpec

from parity_tests import program

TABLE = np.arange(66, dtype=np.float32)


@program
def wants_three_devices():
    mesh = jax.make_mesh((3,), ("x",))
    argument = jax.device_put(TABLE, NamedSharding(mesh, PartitionSpec("x")))
    return lambda x: x * TABLE, (argument,)


@program(args=(np.float32(2.0),))
def works_with_one(x):
    return x * TABLE
