"""Programs that leave memory or a thread behind, each before one that must not be charged for it.

They write files beside this one, so tests copy it to a folder of theirs.
"""

import os
import threading
import time
from pathlib import Path

import numpy as np

from parity_tests import program

kept, here = [], Path(__file__).parent


@program(args=(1.0,))
def keeps(x):
    kept or kept.append(np.ones(2**27, np.float32))
    return x


@program(args=(1.0,))
def modest(x):
    array = np.ones(2**27, np.float32)
    time.sleep(1)
    return x * array[0]


def crash_later():
    while not (here / "waits").exists():
        time.sleep(0.01)
    os._exit(3)


@program(args=(1.0,))
def leaves_a_thread(x):
    threading.Thread(target=crash_later, daemon=True).start()
    return x


@program(args=(1.0,))
def waits(x):
    (here / "waits").touch()
    time.sleep(1)
    return x


@program(args=(1.0,))
def crashes(x):
    with open(here / "crashes", "a") as file:
        file.write("once ")
    os._exit(4)
