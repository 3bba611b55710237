"""The interpreter: evaluate a jaxpr one equation at a time, whatever its values are.

A `Domain` says what stands for a value and what an equation makes of its operands: numbers in
double precision, variables of a draft, captured arrays, or where a value comes from. The
environment is kept here alone. Bodies are not entered by themselves: a domain that wants to
evaluate one calls `evaluate` again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, TypeVar

from jax.extend import core

from parity_tests.jaxpr.bodies import constants_of, inner

V = TypeVar("V")


class Domain(Protocol[V]):
    """The values of an evaluation, and what equations do with them."""

    def constant(self, value: Any, aval: Any) -> V:
        """Return what stands for the captured value of a constvar."""
        ...

    def unbound(self, var: Any) -> V:
        """Return what stands for a constvar without a value, in a jaxpr that is not closed."""
        ...

    def literal(self, literal: Any) -> V:
        """Return what stands for a Literal, whose value may be a scalar or a captured array."""
        ...

    def equation(self, equation: Any, operands: list[V]) -> Sequence[V]:
        """Return the results of an equation."""
        ...


def evaluate(body: Any, inputs: Sequence[V], domain: Domain[V]) -> list[V]:
    """Evaluate a jaxpr or closed_jaxpr, and return its outputs; raises what the domain raises."""
    jaxpr, constants = inner(body), constants_of(body)
    values = {
        var: domain.constant(constants[var], var.aval) if var in constants else domain.unbound(var)
        for var in jaxpr.constvars
    }
    values.update(zip(jaxpr.invars, inputs, strict=True))
    for equation in jaxpr.eqns:
        operands = [_read(atom, values, domain) for atom in equation.invars]
        results = domain.equation(equation, operands)
        values.update(zip(equation.outvars, results, strict=True))
    return [_read(atom, values, domain) for atom in jaxpr.outvars]


def bind(
    equation: Any, operands: Sequence[Any], params: Mapping[str, Any] | None = None
) -> Sequence[Any]:
    """Run an equation on operands, with parameters other than its own where they are given."""
    bound = equation.primitive.get_bind_params(equation.params if params is None else params)
    results = equation.primitive.bind(*operands, **bound)
    return results if equation.primitive.multiple_results else [results]


def _read(atom: Any, values: Mapping[Any, V], domain: Domain[V]) -> V:
    return domain.literal(atom) if isinstance(atom, core.Literal) else values[atom]
