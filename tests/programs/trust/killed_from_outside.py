"""A program that is killed as the kernel kills where memory ran out, until a file is there.

It looks for the file beside this one, so tests copy it to a folder of theirs.
"""

import os
import signal
from pathlib import Path

import numpy as np

from parity_tests import program

TABLE = np.arange(77, dtype=np.float32)
MEMORY_IS_BACK = Path(__file__).with_name("memory_is_back")


@program(args=(np.float32(2.0),))
def runs_out_of_luck(x):
    if not MEMORY_IS_BACK.exists():
        os.kill(os.getpid(), signal.SIGKILL)
    return x * TABLE
