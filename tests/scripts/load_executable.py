"""Load a compiled program with its const args, call it, and print the bits of the result.

The arguments are the path of the program and those of its const args.
"""

import sys
from pathlib import Path

import numpy as np

import engine

program, *const_args = map(Path, sys.argv[1:])
loaded = engine.serialize_executable.deserialize_and_load(
    program.read_bytes(), [np.load(path) for path in const_args]
)
print(np.asarray(loaded(np.ones(7, np.float32))).tobytes().hex())
