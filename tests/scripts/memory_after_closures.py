"""Print by how many MiB the process grows over closures that capture a MiB each.

The argument is the number of closures; the first 50 are not counted.
"""

import ctypes
import gc
import resource
import sys
from pathlib import Path

import numpy as np

import engine


def resident():
    library = ctypes.CDLL(None)
    if hasattr(library, "malloc_trim"):
        library.malloc_trim(0)  # memory that is free, and only held back, does not count
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 2**20


def closure(i):
    captured = np.full(2**18, i, np.float32)  # 1 MiB
    jitted = engine.jit(lambda x: x + captured)
    assert float(jitted(1.0)[7]) == 1 + i, i


for i in range(int(sys.argv[1])):
    closure(i)
    if i == 50:
        gc.collect()
        before = resident()
gc.collect()
print(resident() - before)
