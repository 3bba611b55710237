"""Lowering, legacy: each constvar becomes an inlined `stablehlo.constant`.

The pass runs on the jaxpr, after all transformations and before anything is emitted. An equation at
the head of each function makes the function's constants, one `stablehlo.constant` for each array,
and no const args are left. Programs that JAX derived may have Literals of arrays; these are lifted
first, because JAX would inline a Literal once per use.

Source: JAX's note "Handling of closed-over constants", section "Previous implementation".
"""

from __future__ import annotations

from engine.configuration.choices import NO_CHOICES, Choices
from engine.ir.inlining import inline
from engine.ir.jaxprs import ClosedJaxpr, is_hoistable
from engine.ir.lifting import lift
from engine.ir.unsupported import refuse_unsupported
from engine.pipeline import LoweringPlan


def plan(
    closed_jaxpr: ClosedJaxpr,
    embed_threshold: int,
    hoist_constants_as_args: bool,
    choices: Choices = NO_CHOICES,
) -> LoweringPlan:
    """Plan to inline each array once per function; the choices have no effect.

    Raises NotImplementedError for a program that neither pipeline can lower.
    """
    del hoist_constants_as_args, choices
    refuse_unsupported(closed_jaxpr, lambda value: is_hoistable(value, embed_threshold))
    return LoweringPlan(inline(lift(closed_jaxpr, each_function_its_own=True)))
