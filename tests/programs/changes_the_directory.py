"""A module that changes the working directory to its own, and reads a file there."""

import os
from pathlib import Path

import numpy as np

from parity_tests import program

os.chdir(os.path.dirname(os.path.abspath(__file__)))
TABLE = np.ones(77, np.float32)


@program
def first():
    factor = float(Path("inner.txt").read_text())
    return lambda x: x * factor * TABLE, (1.0,)


@program
def second():
    return first()
