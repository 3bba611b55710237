"""Inlining: an equation at the head of each function makes the constants of that function.

This is how both pipelines put an array into the lowered module, one `stablehlo.constant` for each
array and function. A Literal is lifted to a constvar first, because JAX would inline it once per
use. Constvars are left for what no module can contain: traced values and references.

When not to use it: on a jaxpr that a user will read, or that is still to be transformed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from engine import jax_internals
from engine.ir.jaxprs import (
    Body,
    ClosedJaxpr,
    JaxprEqn,
    Var,
    bodies_of,
    consts_of,
    contents_of,
    is_hoistable,
)
from engine.ir.lifting import is_array, lift
from engine.ir.rewriting import BodyRewriting
from engine.ir.unsupported import refuse_unsupported
from engine.jax_internals import replaced

B = TypeVar("B", bound=Body)


def inlined(closed_jaxpr: ClosedJaxpr, embed_threshold: int) -> ClosedJaxpr:
    """Return a program as both pipelines lower it where they hoist nothing.

    Raises NotImplementedError for a program that neither pipeline can lower; `embed_threshold` is
    in bytes.
    """
    refuse_unsupported(closed_jaxpr, lambda value: is_hoistable(value, embed_threshold))
    return inline(closed_jaxpr)


def inline(closed_jaxpr: ClosedJaxpr, wanted: Callable[[Any], bool] = is_array) -> ClosedJaxpr:
    """Let equations make the constants of a program and of its inner functions; idempotent.

    These are all constvars, and Literals of arrays: all of them, or the `wanted` ones. Returns its
    argument where there is nothing to inline.

    Example::

        closed_jaxpr = engine.make_jaxpr(lambda x: x + table, constants="legacy")(1.0)
        assert inline(closed_jaxpr).eqns[0].primitive.name == "inlined_constants"
    """
    closed_jaxpr = lift(closed_jaxpr, wanted, each_function_its_own=True)
    if contents_of(closed_jaxpr).nested:
        return _Inlining(closed_jaxpr).body(closed_jaxpr)
    # Most programs have no inner functions, and a first call waits for this.
    return _with_constants_made(closed_jaxpr, is_main=True)


class _Inlining(BodyRewriting):
    """One run of `inline`; a body that is shared stays shared."""

    def __init__(self, main: ClosedJaxpr) -> None:
        super().__init__()
        self._main = main

    def body(self, body: B) -> B:
        """Return a body without constants among its constvars."""
        if id(body) not in self._done:
            new = super().body(body)
            made = _with_constants_made(new, is_main=body is self._main)
            if made is not new:
                self._done[id(body)] = body, made
        return super().body(body)

    def _with_new_equations(self, body: Body) -> Body:
        """Return most bodies at once: only equations with bodies can change here."""
        return super()._with_new_equations(body) if contents_of(body).nested else body

    def _equation(self, eqn: JaxprEqn) -> JaxprEqn:
        return super()._equation(eqn) if bodies_of(eqn) else eqn


def _with_constants_made(body: B, *, is_main: bool) -> B:
    """Return a body whose constants an equation makes; the body itself where it has none."""
    values = consts_of(body)
    if not values:
        return body
    variables: Sequence[Var] = body.constvars
    kept: list[tuple[Var, Any]] = []
    if not jax_internals.are_plain_arrays(values):  # the question for all at once: mostly yes
        pairs = list(zip(variables, values, strict=True))
        kept = [pair for pair in pairs if not _is_constant(pair[1])]
        if len(kept) == len(pairs):
            return body
        variables, values = zip(*(pair for pair in pairs if _is_constant(pair[1])), strict=True)
    return replaced(
        body,
        constvars=[var for var, _ in kept],
        consts=[value for _, value in kept],
        eqns=[
            jax_internals.inlined_constants(variables, values, drop_unused=is_main),
            *body.eqns,
        ],
    )


def _is_constant(value: Any) -> bool:
    return not (jax_internals.is_tracer(value) or jax_internals.is_reference(value))
