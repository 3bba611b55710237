"""A program that raises if its process has imported the engine or an experiment."""

import sys

from parity_tests import program

FOREIGN = ("engine", "parity_tests.experiments", "parity_tests.reduce")


def found():
    return [name for name in FOREIGN if name in sys.modules]


@program(args=(1.0,))
def looks(x):
    if found():
        raise ImportError(str(found()))
    return x
