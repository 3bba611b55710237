"""Inlining: an equation at the head of each function makes the constants of that function.

This is how both pipelines put an array into the lowered module, one `stablehlo.constant` for each
array and function. Constvars are left for what no module can contain: traced values and references.

When not to use it: on a jaxpr that a user will read, or that is still to be transformed.
"""

from __future__ import annotations

from typing import Any, TypeVar

from engine import jax_internals
from engine.ir.closures import constvars_of
from engine.ir.jaxprs import Body, ClosedJaxpr, consts_of
from engine.ir.rewriting import BodyRewriting
from engine.jax_internals import replaced

B = TypeVar("B", bound=Body)


def inline(closed_jaxpr: ClosedJaxpr) -> ClosedJaxpr:
    """Replace the constvars of a program and of its inner functions by equations; idempotent.

    Returns its argument where there is nothing to inline.

    Example::

        closed_jaxpr = engine.make_jaxpr(lambda x: x + table, constants="legacy")(1.0)
        assert inline(closed_jaxpr).eqns[0].primitive.name == "inlined_constants"
    """
    return _Inlining(closed_jaxpr).body(closed_jaxpr)


class _Inlining(BodyRewriting):
    """One run of `inline`; a body that is shared stays shared."""

    def __init__(self, main: ClosedJaxpr) -> None:
        super().__init__()
        self._main = main

    def body(self, body: B) -> B:
        """Return a body without constants among its constvars."""
        if id(body) not in self._done:
            new = super().body(body)
            if any(map(_is_constant, consts_of(new))):
                self._done[id(body)] = body, _inlined(new, is_main=body is self._main)
        return super().body(body)


def _inlined(body: Body, *, is_main: bool) -> Body:
    own = constvars_of(body)
    inlined = [(var, const) for var, const in own if _is_constant(const)]
    kept = [(var, const) for var, const in own if not _is_constant(const)]
    constants = jax_internals.inlined_constants(
        [var for var, _ in inlined], [const for _, const in inlined], drop_unused=is_main
    )
    return replaced(
        body,
        constvars=[var for var, _ in kept],
        consts=[const for _, const in kept],
        eqns=[constants, *body.eqns],
    )


def _is_constant(value: Any) -> bool:
    return jax_internals.is_plain_array(value) or not (
        jax_internals.is_tracer(value) or jax_internals.is_reference(value)
    )
