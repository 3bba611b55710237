"""Functions that another module makes programs of."""

from parity_tests import program


def step(x):
    return x


def loss(x):
    "Squares."
    return x * x


def our_program(fun):
    return program(args=(1.0,))(fun)
