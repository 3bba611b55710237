"""The interpreter over two domains: numbers, and the names of variables."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.extend import core

from parity_tests.jaxpr.interpreter import bind, evaluate

TABLE = np.arange(3, dtype=np.float32)


class Numbers:
    """Values are numbers, and bodies are run by JAX."""

    def constant(self, value, aval):
        return value

    def unbound(self, var):
        raise KeyError(str(var))

    def literal(self, literal):
        return literal.val

    def equation(self, equation, operands):
        return bind(equation, operands)


class Names(Numbers):
    """Values are words that say where they come from."""

    def constant(self, value, aval):
        return f"constant {aval.str_short()}"

    def unbound(self, var):
        return "unbound"

    def literal(self, literal):
        return str(literal.val)

    def equation(self, equation, operands):
        call = f"{equation.primitive.name}({', '.join(operands)})"
        return [call] * len(equation.outvars)


def fun(x):
    y = jax.jit(jnp.sin)(x) * TABLE
    return y.sum(), x + 1.0, x


def test_numbers():
    closed = jax.make_jaxpr(fun)(TABLE)
    found = evaluate(closed, [TABLE], Numbers())
    for value, wanted in zip(found, fun(TABLE), strict=True):
        np.testing.assert_allclose(value, wanted, rtol=1e-6)


def test_each_atom_is_what_the_domain_says():
    closed = jax.make_jaxpr(lambda x, y: (x * 2.0, y))(1.0, 1.0)
    assert evaluate(closed, ["x", "y"], Names()) == ["mul(x, 2.0)", "y"]
    [captured] = evaluate(jax.make_jaxpr(lambda x: x * jnp.asarray(TABLE))(TABLE), ["x"], Names())
    assert captured in ("mul(x, constant float32[3])", "mul(x, [0. 1. 2.])")  # of each mode


def test_a_constvar_without_a_value_is_asked_for():
    closed = jax.make_jaxpr(lambda x: x * jnp.asarray(TABLE))(TABLE)
    assert len(closed.jaxpr.constvars) == 1
    if core.ClosedJaxpr is core.Jaxpr:  # jax 0.11.0: no jaxpr is without its values
        assert evaluate(closed.jaxpr, ["x"], Names()) == ["mul(x, constant float32[3])"]
    else:
        assert evaluate(closed.jaxpr, ["x"], Names()) == ["mul(x, unbound)"]
        with pytest.raises(KeyError):
            evaluate(closed.jaxpr, [TABLE], Numbers())


def test_inputs_must_be_as_many_as_the_body_has():
    with pytest.raises(ValueError, match="zip"):
        evaluate(jax.make_jaxpr(jnp.sin)(1.0), [1.0, 2.0], Numbers())


def test_an_equation_can_be_bound_with_other_parameters():
    [equation] = jax.make_jaxpr(lambda x: jnp.float32(x))(np.int32(1)).eqns
    params = {**equation.params, "new_dtype": np.dtype(np.float16)}
    [plain], [other] = bind(equation, [1]), bind(equation, [1], params)
    assert (plain.dtype, other.dtype) == (np.float32, np.float16)
