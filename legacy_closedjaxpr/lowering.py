"""Lowering, legacy: each constvar becomes an inlined `stablehlo.constant`.

JAX inlines the consts of a ClosedJaxpr when it lowers the function that the ClosedJaxpr is the body
of, so the plan is the program itself and there are no const args.

Source: the constants note (seed 000), "Previous implementation".
"""

from __future__ import annotations

from engine.jaxprs import ClosedJaxpr
from engine.programs import LoweringPlan


def plan(closed_jaxpr: ClosedJaxpr, max_bytes: int, hoist_constants_as_args: bool) -> LoweringPlan:
    """Lower the program as it is; there is nothing to hoist, so both choices are ignored."""
    del max_bytes, hoist_constants_as_args
    return LoweringPlan(closed_jaxpr)
