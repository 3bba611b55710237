"""Lowering, legacy: each constvar becomes an inlined `stablehlo.constant`.

JAX inlines the consts of a ClosedJaxpr into the function that it lowers from it. So the plan is the
program itself, and there are no const args.

Source: JAX's note "Handling of closed-over constants", section "Previous implementation".
"""

from __future__ import annotations

from engine.configuration.choices import NO_CHOICES, Choices
from engine.ir.jaxprs import ClosedJaxpr, is_hoistable
from engine.ir.unsupported import refuse_unsupported
from engine.pipeline import LoweringPlan


def plan(
    closed_jaxpr: ClosedJaxpr,
    embed_threshold: int,
    hoist_constants_as_args: bool,
    choices: Choices = NO_CHOICES,
) -> LoweringPlan:
    """Plan to lower the program unchanged; nothing is hoisted, so the choices have no effect.

    Raises NotImplementedError for a program that neither pipeline can lower.
    """
    del hoist_constants_as_args, choices
    refuse_unsupported(closed_jaxpr, lambda value: is_hoistable(value, embed_threshold))
    return LoweringPlan(closed_jaxpr)
