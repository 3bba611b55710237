"""Counters of jaxprs: equations, captured arrays, constvars and Literals."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.extend.core import Primitive

from parity_tests.jaxpr import counts
from parity_tests.jaxpr.captured import identity

TABLE = jnp.arange(77.0)
HOST = np.arange(91, dtype=np.float32)
SMALL = jnp.arange(8.0)  # 32 bytes: at the threshold, not above


def count(f, *args, embed_threshold=32):
    return counts.count(jax.make_jaxpr(f)(*args), embed_threshold=embed_threshold)


def test_bodies_are_counted():
    def f(x):
        def body(carry, _):
            return carry + 1.0, None

        return lax.cond(x > 0, lambda x: lax.scan(body, x, None, 3)[0], lambda x: x, x)

    # gt, convert_element_type, cond; in a branch scan; in its body add
    assert count(f, 1.0).equations == 5


def test_a_shared_body_counts_where_it_is_used():
    @jax.jit
    def inner(x):
        return x * x + x

    assert count(lambda x: inner(inner(x)), 1.0).equations == 6


def test_an_array_is_captured_once_however_often_it_is_used():
    facts = count(lambda x: TABLE * x + TABLE + lax.cond(x > 0, lambda: TABLE, lambda: -TABLE), 1.0)
    assert [array.shape for array in facts.captured] == [(77,)]
    assert facts.captured_bytes == 77 * 4


def test_numpy_views_of_one_memory_are_one_array():
    # jnp.sin and jnp.cos each wrap HOST in a view of their own.
    facts = count(lambda x: jnp.sin(HOST) + jnp.cos(HOST) + x, 1.0)
    assert [array.shape for array in facts.captured] == [(91,)]
    a, b = HOST.view(), HOST.view()
    assert identity(a) == identity(b)
    assert identity(a[:5]) != identity(a)
    assert identity(a[::2]) != identity(a[: len(a[::2])])


@pytest.mark.parametrize("held", [lambda closed: closed.jaxpr, lambda closed: closed])
def test_constvars_of_tracers_stand_for_operands_and_are_none_of_the_program(held):
    # As a primitive of Equinox's filter_closure_convert: its params have the jaxpr of a function
    # that captured a tracer, which is an operand. Both forms have it alike.
    apply = Primitive("apply")
    apply.def_abstract_eval(lambda x, *_, body: x)

    def f(x):
        closed = jax.make_jaxpr(lambda y: y + x)(x)
        return apply.bind(*closed.consts, x, body=held(closed)) * TABLE

    facts = count(f, TABLE)
    assert facts.equations == 3  # apply, in its body add, mul
    assert facts.constvars + facts.array_literals == 1  # of TABLE


def test_what_no_equation_reads_may_be_left_out():
    closed = jax.make_jaxpr(lambda x: jax.jit(lambda y: (y, TABLE))(x)[0])(1.0)
    [call] = closed.jaxpr.eqns
    inner = call.params["jaxpr"]
    unread = inner.replace(jaxpr=inner.jaxpr.replace(outvars=inner.jaxpr.outvars[:1]))
    for body, captured in ((inner, 1), (unread, 0)):
        facts = counts.count(body, embed_threshold=32, only_read=True)
        assert len(facts.captured) == captured
        assert len(counts.count(body, embed_threshold=32).captured) == 1


def test_equal_arrays_are_two():
    other = TABLE + 0
    assert len(count(lambda x: TABLE + other + x, 1.0).captured) == 2


def test_small_arrays_and_scalars_are_not_captured():
    facts = count(lambda x: SMALL + x + jnp.float32(3), 1.0)
    assert facts.captured == ()
    assert len(count(lambda x: SMALL + x, 1.0, embed_threshold=31).captured) == 1


def test_a_typed_key_is_known_as_one():
    key = jax.random.key(0)
    facts = count(lambda: jax.random.split(key))
    assert [array.key for array in facts.small_keys] == [True]
    keys = jax.random.split(key, 8)
    facts = count(lambda x: jax.random.key_data(keys)[0, 0] + x, np.uint32(1))
    assert [(array.key, array.bytes) for array in facts.captured] == [(True, 64)]


def test_constvars_and_literals_are_told_apart():
    legacy = count(lambda x: TABLE * x + TABLE, 1.0)
    literal = jax.make_jaxpr(lambda x: x * 2.0)(1.0)
    assert legacy.constvars + legacy.array_literals >= 1
    assert counts.count(literal, embed_threshold=0).array_literals == 0


def test_an_array_literal_is_counted_for_each_use():
    closed = jax.make_jaxpr(lambda t, x: t * x + t)(TABLE, 1.0)
    t, _ = closed.jaxpr.invars
    literal = jax.extend.core.Literal(TABLE, t.aval)
    equations = [
        e.replace(invars=[literal if v is t else v for v in e.invars]) for e in closed.jaxpr.eqns
    ]
    hoisted = closed.replace(jaxpr=closed.jaxpr.replace(eqns=equations))
    facts = counts.count(hoisted, embed_threshold=32)
    assert (facts.array_literals, len(facts.captured)) == (2, 1)
