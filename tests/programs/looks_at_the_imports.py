"""A program that raises if its process has imported the engine, an experiment or jinja2."""

import sys

from parity_tests import program

FOREIGN = ("engine", "parity_tests.experiments", "parity_tests.reduce", "jinja2")


def found():
    return [name for name in FOREIGN if name in sys.modules]


@program(args=(1.0,))
def looks(x):
    if found():
        raise ImportError(str(found()))
    return x
