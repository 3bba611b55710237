"""Load an exported program and call it with an argument that is sharded over devices.

The arguments are the path of the export and the number of devices.
"""

import sys

import jax
import numpy as np
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec

from engine import export

path, count = sys.argv[1], int(sys.argv[2])
mesh = Mesh(np.array(jax.devices()[:count]), ("a",), axis_types=(AxisType.Auto,))
x = jax.device_put(np.ones((8, 8), np.float32), NamedSharding(mesh, PartitionSpec("a")))
for options in ({}, {"mesh": mesh}):
    f = export.load(path, **options)
    result = f.call(x)
    assert len(result.devices()) == len(f.call(x).devices()) == count
    gradient = jax.grad(lambda x, f=f: (f.call(x) ** 2).sum())(x)
    print(np.asarray(result).tobytes().hex(), np.asarray(gradient).tobytes().hex())
