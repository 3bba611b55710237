"""Simplified lowering: what the plan hoists, and what it leaves."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental import pallas as pl
from jax.extend.core import Primitive
from jax.interpreters import mlir

import engine
from simplified_consts.const_args import captured_arrays
from simplified_consts.lowering import plan

A, B = jnp.arange(12.0), jnp.ones((3, 4))


def planned(fun, *args, embed_threshold=32, hoist=True):
    closed_jaxpr = engine.make_jaxpr(fun, constants="simplified")(*args)
    return closed_jaxpr, plan(closed_jaxpr, embed_threshold, hoist)


def test_const_args_lead_the_inputs():
    _, made = planned(lambda x, y: (x + A, y @ B, x * A), 1.0, jnp.ones(3))
    assert made.num_const_args == 2
    assert [a is b for a, b in zip(made.const_args, (A, B), strict=True)] == [True, True]
    shapes = [v.aval.shape for v in made.closed_jaxpr.invars]
    assert shapes == [(12,), (3, 4), (), (3,)]
    assert made.closed_jaxpr.consts == []
    assert not made.jax_hoists_the_rest


def test_a_program_without_constants_is_left_as_it_is():
    closed_jaxpr, made = planned(lambda x: jnp.sin(x) * 2, 1.0)
    assert made.closed_jaxpr is closed_jaxpr
    assert made.const_args == ()


def test_declining_inlines_an_array_once():
    _, made = planned(lambda x: x * A + A, 1.0, hoist=False)
    assert made.const_args == ()
    [inlined] = made.closed_jaxpr.eqns[0].params["arrays"]
    assert inlined is A


def test_what_a_rule_of_a_library_traces_while_jax_lowers_is_lowered_as_in_stock_simplified():
    # As a linear solve of Lineax, whose params hold functions that captured arrays.
    applied = Primitive("applied")
    applied.def_abstract_eval(lambda x, *, fun: x)
    mlir.register_lowering(
        applied,
        mlir.lower_fun(
            lambda x, *, fun: jax.lax.fori_loop(0, 3, lambda _, c: fun(c), fun(x)),
            multiple_results=False,
        ),
    )
    inner = jax.jit(lambda x: x * A)

    def program(x):
        return applied.bind(x, fun=lambda x: inner(x) + inner(x + A))

    text = engine.jit(program, constants="simplified").lower(jnp.ones(12)).as_text()
    # With JAX's flag on stock JAX inlines it as often, and with the flag off twice (jax 0.10.2).
    assert len(re.findall(r"constant dense<.*> : tensor<12xf32>", text)) == 4
    assert planned(program, jnp.ones(12))[1].leaves_arrays
    assert not planned(lambda x: x * A, jnp.ones(12))[1].leaves_arrays


def test_threshold_is_inclusive():
    small = np.arange(8, dtype=np.float32)
    assert planned(lambda x: x + small, 1.0)[1].const_args == ()
    assert planned(lambda x: x + small, 1.0, embed_threshold=31)[1].num_const_args == 1


def test_const_args_share_buffers_except_with_donated_arguments():
    _, made = planned(lambda x: x + A, jnp.ones(12))
    [shared] = captured_arrays(made, ())
    assert shared.unsafe_buffer_pointer() == A.unsafe_buffer_pointer()
    [copied] = captured_arrays(made, [jax.core.ShapedArray((12,), jnp.float32)])
    assert copied.unsafe_buffer_pointer() != A.unsafe_buffer_pointer()
    [again] = captured_arrays(made, [jax.core.ShapedArray((12,), jnp.float32)])
    assert again is copied  # one copy, however often the program is called


def test_const_args_follow_the_arguments():
    committed = jax.device_put(A, jax.devices()[0])
    assert committed.committed
    _, made = planned(lambda x: x + committed, 1.0)
    [const_arg] = captured_arrays(made, ())
    assert not const_arg.committed
    assert not engine.jit(lambda x: x + committed, constants="simplified")(1.0).committed


def kernel_and_function(table, other):
    """A program that uses `table` in a Pallas kernel, in bodies, and beside them."""

    def kernel(x, out):
        out[...] = (x[...] + table) * table

    def program(x):
        added = pl.pallas_call(kernel, out_shape=x, interpret=True)(x) * table
        chosen = jax.lax.cond(x[0] > 0, lambda v: v * table, lambda v: v - other, added)
        return jax.jit(lambda v: v + table + other)(chosen)

    return program


@pytest.mark.parametrize("kind", [jnp.asarray, np.asarray])
def test_an_array_inside_and_outside_of_a_kernel_is_one_const_arg(kind):
    """JAX hoists what a kernel captures; all that uses the array outside reads that const arg."""
    x, table, other = jnp.ones(12), kind(np.arange(1.0, 13, dtype=np.float32)), kind(A)
    program = kernel_and_function(table, other)
    lowered = engine.jit(program, constants="simplified").lower(x)
    main = lowered.as_text().partition(" -> ")[0]
    assert (lowered.num_const_args, main.count("jax.const = true")) == (2, 2)
    [inner] = [line for line in lowered.as_text().splitlines() if "func.func private" in line]
    assert inner.count("jax.const = true") == 2, inner
    expected = (x + table) * table * table * table + table + other
    np.testing.assert_array_equal(lowered.compile()(x), expected)
