"""Estimates of work: by shapes, and the same in both modes where the program is one."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from parity_tests.jaxpr.rewriting import live_part
from parity_tests.jaxpr.work import equations_at_work, operations_of

A = np.ones((8, 4), np.float32)
X = np.ones((4, 16), np.float32)


SQUARE = np.ones((8, 8), np.float32)


@pytest.mark.parametrize(
    ("fun", "x", "operations"),
    [
        (lambda x: A @ x, X, 2 * 8 * 16 * 4),
        (lambda x: x + x, X, 64),
        (lambda x: jnp.sin(x), X, 16 * 64),
        (lambda x: x.sum(), X, 64),
        (lambda x: lax.sort(x), X, 2 * 64 * np.log2(66)),
        (lambda x: x.T, X, 0),
        (lambda x: lax.cumsum(x), X, 64 * np.log2(66)),
        (lambda x: lax.reduce_precision(x, 8, 8), X, 64),
        (lambda x: lax.linalg.cholesky(x, symmetrize_input=False), SQUARE, 64 * 8),
        (lambda x: lax.reduce_window(x, 0.0, lax.max, (2, 2), (1, 1), "VALID"), SQUARE, 49 * 4),
        (
            lambda x: lax.conv(x, x, (1, 1), "SAME"),
            np.ones((2, 2, 3, 3), np.float32),
            2 * 36 * 18,
        ),
    ],
)
def test_an_equation_is_estimated_by_its_shapes(fun, x, operations):
    equations = jax.make_jaxpr(fun)(x).eqns
    assert max(map(operations_of, equations)) == pytest.approx(operations)


def test_a_scan_counts_its_turns_and_another_loop_one():
    def loop(x):
        return lax.scan(lambda c, _: (c + c, None), x, None, 5)[0]

    def endless(x):
        return lax.while_loop(lambda c: c[0, 0] < 3, lambda c: c + c, x)

    names, operations = equations_at_work(jax.make_jaxpr(loop)(X))
    assert (names, operations) == ({"add": 1}, 5 * 64)
    names, operations = equations_at_work(jax.make_jaxpr(endless)(X))
    assert (names, operations) == ({"add": 1, "lt": 1}, 64 + 1)


def test_what_moves_elements_is_no_work_and_bodies_are():
    def f(x):
        return jax.jit(lambda y: jnp.sin(y).T)(x).reshape(-1)[::-1]

    assert equations_at_work(live_part(jax.make_jaxpr(f)(X)))[0] == {"sin": 1}
