"""Fixtures of the engine's tests: a program that captures one array in every kind of body."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import engine

SIDES = engine.SIDES

# A distinctive shape: a constant of it in a module can only be the captured array.
SHAPE = (7, 7)


@pytest.fixture(params=SIDES)
def side(request):
    return request.param


@pytest.fixture
def table():
    return jnp.asarray(np.random.default_rng(0).normal(size=SHAPE).astype(np.float32))


@pytest.fixture
def uses_table_everywhere(table):
    """A function of a (7, 7) float32 array and a bool that uses one captured array ten times."""

    @jax.custom_jvp
    def scaled(x):
        return x * table

    scaled.defjvp(lambda primals, tangents: (scaled(*primals), tangents[0] * table))

    @jax.custom_vjp
    def shifted(x):
        return x + table

    shifted.defvjp(lambda x: (x + table, None), lambda _, ct: (ct,))

    def fun(x, flag):
        y = jnp.tanh(x @ table)
        y = lax.cond(flag, lambda a: a - table, lambda a: a @ table, y)
        y, _ = lax.scan(lambda carry, row: (jnp.tanh(carry * row + table), None), y, table)
        y = lax.fori_loop(0, 2, lambda _, carry: jnp.sin(carry + table), y)
        y = lax.while_loop(lambda c: c.sum() < -1e6 + table.sum(), lambda c: c + table, y)
        y = jax.jit(lambda z: jax.jit(lambda w: w * table)(z) + table)(y)
        y = jax.checkpoint(lambda z: jnp.cos(z * table))(y)
        y = shifted(scaled(y))
        return {"y": y, "table": table}

    return fun


@pytest.fixture
def arguments():
    return jnp.linspace(-1.0, 1.0, 49).reshape(SHAPE), True
