"""A program that writes the id of its process beside this file, and sleeps."""

import os
import time
from pathlib import Path

from parity_tests import program


@program(args=(1.0,))
def sleeper(x):
    (Path(__file__).parent / "pid").write_text(f"{os.getpid()}.")
    time.sleep(3600)
