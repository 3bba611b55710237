"""The equation that reads a const arg of JAX's: a primitive of this project, in lowered programs.

JAX hoists the arrays inside a body whose operands cannot change, each array once. What uses such an
array outside of the body reads that const arg by this equation. A Literal there would be another
const arg: JAX tells Literals of one jaxpr apart by their own identity, and arrays of the jaxprs in
params of equations by that of the array (jax 0.10.2 to 0.12.0.1).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jax._src import core, source_info_util
from jax._src.interpreters import mlir

from engine.jax_internals.bodies import closed_over, open_part
from engine.jax_internals.differences import ClosedJaxpr

shared_constants_p = core.Primitive("shared_constants")
shared_constants_p.multiple_results = True


def shared_constants(variables: Sequence[core.Var], values: Sequence[Any]) -> core.JaxprEqn:
    """Make an equation that binds `variables` to the const args that JAX makes of these arrays."""
    literals = [core.Literal(v, var.aval) for v, var in zip(values, variables, strict=True)]
    debug_info = core.DebugInfo("shared constants", "shared_constants", (), None)
    body = closed_over(core.Jaxpr([], [], literals, [], debug_info=debug_info), [])
    return core.new_jaxpr_eqn(
        [],
        list(variables),
        shared_constants_p,
        {"jaxpr": body},
        core.no_effects,
        source_info_util.new_source_info(),
    )


@shared_constants_p.def_impl
def _impl(*, jaxpr: ClosedJaxpr) -> list[Any]:
    return [literal.val for literal in open_part(jaxpr).outvars]


@shared_constants_p.def_abstract_eval
def _abstract_eval(*, jaxpr: ClosedJaxpr) -> list[Any]:
    return [literal.aval for literal in open_part(jaxpr).outvars]


def _lower(ctx: mlir.LoweringRuleContext, *, jaxpr: ClosedJaxpr) -> list[Any]:
    return [
        mlir.ir_constant(literal.val, const_lowering=ctx.const_lowering, aval=literal.aval)
        for literal in open_part(jaxpr).outvars
    ]


# A lowering that JAX caches is a function of its own, which does not get the const args.
mlir.register_lowering(shared_constants_p, _lower, cacheable=False)
