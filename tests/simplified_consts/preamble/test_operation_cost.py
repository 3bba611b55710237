"""The work of an equation is what a count by hand says."""

import jax
import jax.numpy as jnp
import pytest
from jax import lax

from simplified_consts.preamble.operation_cost import WorkTable


def convolved(x):
    return lax.conv(x, jnp.ones((5, 3, 2, 2)), (1, 1), "VALID")


def windows(x):
    return lax.reduce_window(x, 0.0, lax.add, (3,), (1,), "VALID")


def multiplied(x):
    return lax.dot(x, x.T)


@pytest.mark.parametrize(
    ("fun", "shape", "operations"),
    [
        (
            convolved,
            (1, 3, 8, 8),
            5 * 7 * 7 * (2 * 3 * 2 * 2),
        ),  # outputs, products and sums of each
        (windows, (8,), 6 * 3),
        (multiplied, (4, 6), 2 * 4 * 4 * 6),
    ],
    ids=lambda each: getattr(each, "__name__", None),
)
def test_the_work_of_an_equation_is_counted_by_its_shapes(fun, shape, operations):
    *_, eqn = [
        eqn
        for eqn in jax.make_jaxpr(fun)(jnp.ones(shape)).eqns
        if not eqn.primitive.name.startswith(("broadcast", "transpose"))
    ]
    assert WorkTable().of(eqn).operations == operations
