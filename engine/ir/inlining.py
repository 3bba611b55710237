"""Inlining: an equation at the head of each function makes the constants of that function.

This is how both pipelines put an array into the lowered module, one `stablehlo.constant` for each
array and function. Constvars are left for what no module can contain: traced values and references.

When not to use it: on a jaxpr that a user will read, or that is still to be transformed.
"""

from __future__ import annotations

from typing import Any

from engine import jax_internals
from engine.ir.jaxprs import ClosedJaxpr
from engine.ir.rewriting import BodyRewriting


def inline(closed_jaxpr: ClosedJaxpr) -> ClosedJaxpr:
    """Replace the constvars of a program and of its inner functions by equations; idempotent.

    Returns its argument where there is nothing to inline.

    Example::

        closed_jaxpr = engine.make_jaxpr(lambda x: x + table, constants="legacy")(1.0)
        assert inline(closed_jaxpr).eqns[0].primitive.name == "inlined_constants"
    """
    return _Inlining(closed_jaxpr).closed(closed_jaxpr)


class _Inlining(BodyRewriting):
    """One run of `inline`; a body that is shared stays shared."""

    def __init__(self, main: ClosedJaxpr) -> None:
        super().__init__()
        self._main = main

    def closed(self, closed_jaxpr: ClosedJaxpr) -> ClosedJaxpr:
        if id(closed_jaxpr) not in self._done:
            rewritten = super().closed(closed_jaxpr)
            if rewritten.consts:
                rewritten = _inlined(rewritten, is_main=closed_jaxpr is self._main)
            self._remember(closed_jaxpr, rewritten)
        return self._done[id(closed_jaxpr)][1]


def _inlined(closed_jaxpr: ClosedJaxpr, *, is_main: bool) -> ClosedJaxpr:
    jaxpr = closed_jaxpr.jaxpr
    pairs = list(zip(jaxpr.constvars, closed_jaxpr.consts, strict=True))
    inlined = [(var, const) for var, const in pairs if _is_constant(const)]
    if not inlined:
        return closed_jaxpr
    kept = [(var, const) for var, const in pairs if not _is_constant(const)]
    constants = jax_internals.inlined_constants(
        [var for var, _ in inlined], [const for _, const in inlined], drop_unused=is_main
    )
    new = jaxpr.replace(
        constvars=[var for var, _ in kept],
        eqns=[constants, *jaxpr.eqns],
        debug_info=jaxpr.debug_info,
    )
    return ClosedJaxpr(new, [const for _, const in kept])


def _is_constant(value: Any) -> bool:
    return jax_internals.is_plain_array(value) or not (
        jax_internals.is_tracer(value) or jax_internals.is_reference(value)
    )
