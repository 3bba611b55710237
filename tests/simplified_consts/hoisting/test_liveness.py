"""The quick check of liveness agrees with JAX's own pass."""

import re
import unittest.mock

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import engine
from engine import jax_internals
from engine.ir.jaxprs import bodies_in, bodies_of
from parity_tests import targets
from simplified_consts.hoisting import liveness
from simplified_consts.hoisting.liveness import live_part

X = np.ones((4, 4), np.float32)
TABLE = np.ones((4, 4), np.float32)


def closed_jaxpr_of(fun, *args, **kwargs):
    return engine.jit(fun, constants="simplified").trace(*args, **kwargs).lojax.jaxpr


def equations(closed_jaxpr):
    """Number of equations of a program and all its bodies."""
    return sum(len(body.eqns) for body in bodies_in(closed_jaxpr))


def is_plainly_live(closed_jaxpr):
    """Say whether `live_part` answers without JAX's pass."""
    with unittest.mock.patch.object(jax_internals, "live_part") as jax_pass:
        live_part(closed_jaxpr)
    return not jax_pass.called


def printed(closed_jaxpr):
    """A program as text without the trees of scans: JAX's pass writes them anew (jax 0.11.2)."""
    return re.sub(r"^ *ft_(in|out)=.*\n", "", str(closed_jaxpr), flags=re.MULTILINE)


def test_jax_finds_nothing_dead_in_plainly_live_programs_of_the_corpus():
    plainly_live, has_dead = set(), set()
    for program in targets.load([]):
        fun, args, kwargs = program.build()
        closed_jaxpr = closed_jaxpr_of(fun, *args, **kwargs)
        if is_plainly_live(closed_jaxpr):
            plainly_live.add(program.name)
            assert printed(jax_internals.live_part(closed_jaxpr)) == printed(closed_jaxpr), (
                program.name
            )
        if equations(jax_internals.live_part(closed_jaxpr)) < equations(closed_jaxpr):
            has_dead.add(program.name)
    assert not plainly_live & has_dead
    assert len(has_dead) >= 20
    assert len(plainly_live) > 100


def unread_result(x):
    _ = jnp.sin(x)
    return x + 1


def unread_chain(x):
    y = jnp.sin(x)
    _ = jnp.cos(y)
    return x + 1


def unread_result_of_a_function(x):
    both = jax.jit(lambda x: (jnp.sin(x), jnp.cos(x)))
    return both(x)[0]


def unread_input_of_a_function(x):
    return jax.jit(lambda x, y: x + 1, inline=False)(x, jnp.sin(x))


def unread_in_a_function(x):
    return jax.jit(unread_result)(x)


def unread_in_a_branch(x):
    return lax.cond(x[0, 0] > 0, unread_result, jnp.cos, x)


def unread_in_a_loop(x):
    return lax.scan(lambda carry, _: (unread_result(carry), None), x, length=3)[0]


def carried_for_itself_alone(x):
    return lax.fori_loop(0, 3, lambda i, c: (c[0] + 1, jnp.sin(c[1])), (x, x))[0]


def branches_without_results(x):
    lax.cond(jnp.sum(TABLE) > x[0, 0], lambda: None, lambda: None)
    return x + 1


@pytest.mark.parametrize(
    "fun",
    [
        unread_result,
        unread_chain,
        unread_result_of_a_function,
        unread_input_of_a_function,
        unread_in_a_function,
        unread_in_a_branch,
        unread_in_a_loop,
        carried_for_itself_alone,
        branches_without_results,
    ],
)
def test_dead_equations_are_removed(fun):
    closed_jaxpr = closed_jaxpr_of(fun, X)
    assert equations(live_part(closed_jaxpr)) < equations(closed_jaxpr)
    assert len(live_part(closed_jaxpr).in_avals) == 1


def test_all_results_of_a_primitive_with_a_pruning_rule_must_be_read(monkeypatch):
    """Otherwise JAX may drop operands of it; primitives of libraries have such rules."""
    closed_jaxpr = closed_jaxpr_of(lambda x: lax.top_k(x, 2)[0], X)
    assert is_plainly_live(closed_jaxpr)
    monkeypatch.setattr(jax_internals, "prunes_operands", lambda primitive: True)
    assert not is_plainly_live(closed_jaxpr)


def test_effects_stay():
    reference = jax.new_ref(np.zeros((), np.float32))

    def effectful(x):
        reference[...] += x[0, 0]  # nothing reads its result
        return x + 1

    closed_jaxpr = closed_jaxpr_of(effectful, X)
    assert equations(live_part(closed_jaxpr)) == equations(closed_jaxpr)


def test_no_array_is_hoisted_that_dead_code_alone_reads():
    lowered = engine.jit(branches_without_results, constants="simplified").lower(X)
    assert lowered.num_const_args == 0


def test_a_program_of_calls_is_plainly_live_and_checked_once_per_body():
    looked_at = []

    def counting(eqn):
        looked_at.append(eqn.primitive.name)
        return bodies_of(eqn)

    layer = jax.jit(lambda x: jnp.tanh(x) @ x)
    closed_jaxpr = closed_jaxpr_of(lambda x: layer(layer(layer(x))), X)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(liveness, "bodies_of", counting)
        assert is_plainly_live(closed_jaxpr)
    assert looked_at == ["jit", "tanh", "dot_general", "jit", "jit"]
