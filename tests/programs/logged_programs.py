"""Programs that log each build of theirs, and one that hangs until it is fixed."""

import os
import time

import numpy as np

from parity_tests import program

TABLE = np.arange(20, dtype=np.float32)  # a JAX array would start the backend here


def log(name):
    with open(os.environ["RUN_LOG"], "a") as file:
        file.write(f"{name}\n")


def make(number):
    def build():
        log(number)
        time.sleep(0.05)
        return (lambda x: x * TABLE[:4] + number), (1.0,)

    build.__name__ = f"program_{number}"
    return program(build)


for number in range(12):
    globals()[f"program_{number}"] = make(number)


@program
def hangs():
    log("hangs")
    while not os.path.exists(os.environ["RUN_LOG"] + ".fixed"):
        time.sleep(0.1)
    return (lambda x: x), (1.0,)
