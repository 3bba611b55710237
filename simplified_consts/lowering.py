"""Lowering, simplified: constants become leading arguments, one per array, of each function.

The pass runs on the jaxpr, before anything is emitted. The main function gets one argument per
unique constant above the embed threshold; each inner function gets one per constant that it needs.
In the lowered module the order of arguments is: dimension variables, tokens, const args, arrays.

A `stablehlo.constant` is left for scalars, for constants at or below the threshold, for constants
that only arise while JAX lowers (tables of the random number generators), and everywhere when
`hoist_constants_as_args` is False, as it is for export.

Source: the constants note (seed 000), "Lowering".
"""

from __future__ import annotations

from collections.abc import Hashable
from functools import partial
from typing import Any

from engine import jax_internals
from engine.closure_conversion import CONTROL_FLOW, FUNCTIONS, Conversion
from engine.jaxprs import ClosedJaxpr, is_hoistable, jaxpr_const_args
from engine.lifting import lift
from engine.programs import LoweringPlan


def plan(closed_jaxpr: ClosedJaxpr, max_bytes: int, hoist_constants_as_args: bool) -> LoweringPlan:
    """Hoist the constants larger than `max_bytes` that live equations use, each array once."""
    if not hoist_constants_as_args:
        # As constvars, JAX inlines an array once per function; as Literals, once per use.
        return LoweringPlan(lift(closed_jaxpr))
    if not jaxpr_const_args(closed_jaxpr, max_bytes):
        return LoweringPlan(closed_jaxpr)
    live = jax_internals.live_part(closed_jaxpr)
    conversion = Conversion(
        rules=CONTROL_FLOW | FUNCTIONS, wanted=partial(is_hoistable, max_bytes=max_bytes)
    )
    constants: dict[Hashable, Any] = conversion.needs(live)
    return LoweringPlan(
        conversion.body(live, constants),
        tuple(constants.values()),
        jax_hoists_the_rest=bool(conversion.unconverted),
    )
