"""Lowering, legacy: each constvar becomes an inlined `stablehlo.constant`.

JAX inlines the consts of a ClosedJaxpr when it lowers the function that the ClosedJaxpr is the body
of, so the plan is the program itself and there are no const args.

Source: the constants note (seed 000), "Previous implementation".
"""

from __future__ import annotations

from engine.configuration.settings import NO_CHOICES, Choices
from engine.ir.jaxprs import ClosedJaxpr
from engine.ir.unsupported import refuse_unsupported
from engine.pipeline import LoweringPlan
from engine.policies import Selection


def plan(
    closed_jaxpr: ClosedJaxpr,
    max_bytes: int,
    hoist_constants_as_args: bool,
    choices: Choices = NO_CHOICES,
) -> LoweringPlan:
    """Lower the program as it is; there is nothing to hoist, so no choice changes anything.

    Raises NotImplementedError for what neither pipeline can lower.
    """
    del hoist_constants_as_args, choices
    refuse_unsupported(closed_jaxpr, Selection(max_bytes).is_hoisted)
    return LoweringPlan(closed_jaxpr)
