"""Programs made of another module's functions, their derivatives and partials."""

from functools import partial

import jax

from parity_tests import program
from planted_package import model
from planted_package.programs import first  # noqa: F401

mark = program(args=(1.0,))
step = mark(model.step)
gradient = mark(jax.grad(model.loss))
squares = mark(partial(model.loss))


@model.our_program
def own(x):
    return x
