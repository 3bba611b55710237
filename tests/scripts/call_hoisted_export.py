"""Call a saved hoisted export with JAX, NumPy and safetensors alone, and print the result's bits.

The arguments are the path of the export and the argument of the call as JSON. No package of this
project is imported, and the JAX may be another version.
"""

import json
import sys

import jax
import numpy as np
import safetensors.numpy

tensors = safetensors.numpy.load_file(sys.argv[1])
x = np.float32(json.loads(sys.argv[2]))
program = jax.export.deserialize(bytearray(tensors["program.0"].tobytes()))
result = program.call((tensors["constant.0"],), x)
assert "engine" not in sys.modules
print(np.asarray(result).tobytes().hex())
