"""Equations that repeat captured arrays are counted: vmap writes them for operands of a branch."""

import jax
import jax.numpy as jnp
import pytest
from jax import lax

from parity_tests.jaxpr.rewriting import live_part
from parity_tests.jaxpr.work import constant_work

TABLE = jnp.arange(64.0)
X = jnp.arange(8.0)


def repeated(fun, *, simplified):
    before = jax.config.jax_use_simplified_jaxpr_constants
    jax.config.update("jax_use_simplified_jaxpr_constants", simplified)
    try:
        closed = jax.make_jaxpr(fun)(X)
    finally:
        jax.config.update("jax_use_simplified_jaxpr_constants", before)
    return constant_work(live_part(closed), embed_threshold=32).repeated


def branch(value):
    return lax.cond(value > 0, lambda: value * TABLE.sum(), lambda: value)


@pytest.mark.parametrize(
    ("fun", "legacy", "simplified"),
    [
        (lambda x: jax.vmap(branch)(x), True, False),
        (lambda x: x[:, None] * jnp.broadcast_to(TABLE, (8, 64)), True, True),
        (lambda x: x.sum() * TABLE, False, False),
        (lambda x: x[0] * TABLE.reshape(8, 8), False, False),
        (lambda x: jnp.broadcast_to(x, (64, 8)) + TABLE[:, None], False, False),
    ],
)
def test_what_repeats_a_captured_array_in_each_form(fun, legacy, simplified):
    found = [repeated(fun, simplified=form) > 0 for form in (False, True)]
    assert found == [legacy, simplified]
