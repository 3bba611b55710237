"""Which values may be Literals, and which constants a jaxpr has."""

import gc
import weakref

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import engine


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (3, True),
        (2.5, True),
        (np.float32(1), True),
        (np.ones((3, 3)), True),
        (jnp.ones((3, 3)), True),
        (jnp.float32(1), True),
        (jax.random.key(0), False),
        ("text", False),
    ],
)
def test_is_literalable(value, expected):
    assert engine.is_literalable(value) is expected


def simplified(fun, *args):
    return engine.make_jaxpr(fun, constants="simplified")(*args)


def test_one_entry_per_array_however_it_is_used(uses_table_everywhere, arguments, table):
    closed_jaxpr = simplified(uses_table_everywhere, *arguments)
    [only] = engine.jaxpr_const_args(closed_jaxpr)
    assert only is table


def test_constants_are_in_the_order_of_first_use():
    arrays = [jnp.full(20, float(i)) for i in range(4)]
    a, b, c, d = arrays

    def fun(x):
        y = x + b
        z = lax.cond(x[0] > 0, lambda y: y * c, lambda y: y * b, y)
        return z * d, a

    assert [v[0] for v in engine.jaxpr_const_args(simplified(fun, jnp.ones(20)))] == [0, 1, 2, 3]


def test_numpy_arrays_are_identified_by_their_memory():
    array = np.arange(20.0, dtype=np.float32)

    def fun(x):
        return x + array, x * array, x - array[::-1], x + array.copy()

    constants = engine.jaxpr_const_args(simplified(fun, 1.0))
    assert len(constants) == 3  # the array, its reversed view, and another array of equal values


def test_threshold_and_scalars(table):
    scalar, small = jnp.float32(2), np.arange(8, dtype=np.float32)
    closed_jaxpr = simplified(lambda x: x * scalar + small.sum() + jnp.sum(small) + table, 1.0)
    assert len(engine.jaxpr_const_args(closed_jaxpr)) == 1
    assert len(engine.jaxpr_const_args(closed_jaxpr, embed_threshold=31)) == 2
    assert engine.jaxpr_const_args(closed_jaxpr, embed_threshold=table.nbytes) == []
    with engine.embedded_constants_max_bytes(31):
        assert len(engine.jaxpr_const_args(closed_jaxpr)) == 2


def test_memoization_holds_neither_jaxpr_nor_array():
    array = jnp.arange(50.0)
    closed_jaxpr = simplified(lambda x: x + array, 1.0)
    engine.jaxpr_const_args(closed_jaxpr)
    watch = weakref.ref(closed_jaxpr.jaxpr)
    del closed_jaxpr
    jax.clear_caches()
    gc.collect()
    assert watch() is None


def test_make_jaxpr_prints_both_representations(table):
    legacy = engine.make_jaxpr(lambda x: x + table, constants="legacy")(1.0)
    assert str(legacy).startswith("{ lambda a:f32[7,7]; b:f32[]. let")
    assert legacy.consts[0] is table
    literal = engine.make_jaxpr(lambda x: x + table, constants="simplified")(1.0)
    assert "[...]:f32[7,7]" in str(literal)
    assert literal.consts == []


def test_make_jaxpr_options():
    make = engine.make_jaxpr(
        lambda n, x: jnp.ones(n) * x, static_argnums=0, return_shape=True, constants="legacy"
    )
    closed_jaxpr, shape = make(3, 2.0)
    assert closed_jaxpr.out_avals[0].shape == shape.shape == (3,)
    with pytest.raises(ValueError, match="got 'both'"):
        engine.make_jaxpr(lambda x: x, constants="both")


def test_make_jaxpr_takes_the_arguments_of_jax_make_jaxpr():
    def fun(n, x):
        return n * jax.lax.psum(x, "i")

    given = (fun, (0,), [("i", 8)], True)
    ours, shape = engine.make_jaxpr(*given)(2, 1.0)
    stock, expected = jax.make_jaxpr(*given)(2, 1.0)
    assert str(ours) == str(stock)
    assert shape == expected
