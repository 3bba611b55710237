"""Call and differentiate exports with stock JAX alone, and print the bits of the results.

The argument is the folder of the exports. No package of this project is imported, and the JAX may
be another version.
"""

import pathlib
import sys

import jax
import numpy as np

assert "engine" not in sys.modules
folder = pathlib.Path(sys.argv[1])
for blob in sorted(folder.glob("*.jax")):
    f = jax.export.deserialize(bytearray(blob.read_bytes())).call
    for order in range(4):
        f = jax.grad(f) if order else f
        print(f"{blob.stem}{order}", np.asarray(f(np.float32(0.3))).tobytes().hex())
    try:
        jax.grad(f)(np.float32(0.3))
    except ValueError as error:
        if str(error) != "No VJP is available":
            raise
    else:
        raise AssertionError("a derivative beyond those that were serialized")
assert not any(name.startswith(("legacy_closedjaxpr", "simplified_consts")) for name in sys.modules)
