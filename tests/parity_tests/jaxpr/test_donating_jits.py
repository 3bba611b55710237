"""Which jits of a program donate where its user calls it, and what they donate."""

import jax
import jax.numpy as jnp
import pytest

from parity_tests.jaxpr.donating_jits import donating_jits, own_jits

X, W = jnp.arange(3.0), jnp.ones(3)
donating = jax.jit(lambda s, t: s * 2 + t + W, donate_argnums=0)


def found(fun, *args):
    closed = jax.make_jaxpr(fun)(*args)
    return [each.donated for each in donating_jits(closed, args)]


@pytest.mark.parametrize(
    "fun",
    [
        lambda x: donating(x, x + 1) + 1,
        jax.vmap(lambda s: donating(s, 1.0)),
        jax.grad(lambda x: donating(x, 1.0).sum()),
        jax.checkpoint(lambda x: donating(x, 1.0)),
        jax.named_call(lambda x: donating(x, 1.0), name="named"),
    ],
)
def test_an_outermost_jit_donates_an_argument(fun):
    [(donated,)] = found(fun, X)
    assert donated is X


def test_a_captured_array_may_be_what_is_donated():
    [(donated,)] = found(lambda x: donating(W, x), X)
    assert donated is W


def test_a_computed_array_is_donated_by_nobody_else():
    assert found(lambda x: donating(x + 1, x), W) == [()]


@pytest.mark.parametrize(
    "fun",
    [
        jax.jit(lambda x: donating(x, x)),
        lambda x: jax.lax.cond(x[0] > 0, lambda x: donating(x, x), lambda x: x, x),
    ],
)
def test_within_a_jit_or_a_branch_jax_drops_what_is_donated(fun):
    assert found(fun, W) == []


def test_a_solver_of_a_root_takes_some_of_the_operands():
    """From jax 0.12.0 on `lax.custom_root` is one primitive, whose body is the solver alone."""

    def root(b):
        return jax.lax.custom_root(
            lambda x: x * W - b, b, lambda f, x: x / W, lambda g, y: y / g(jnp.ones_like(y))
        )

    assert found(jax.grad(lambda b: root(b).sum()), X) == []


def test_jits_of_jax_are_no_own_jits_of_a_program():
    of_jax = jax.make_jaxpr(lambda x: jnp.where(x > 0, x, 1))(X)
    assert [each.primitive.name for each in of_jax.eqns].count("jit")
    assert not own_jits(of_jax)
    assert own_jits(jax.make_jaxpr(lambda x: donating(x, x))(X))
