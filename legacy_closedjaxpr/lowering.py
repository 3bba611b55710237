"""Lowering, legacy: each constvar becomes an inlined `stablehlo.constant`.

The pass runs on the jaxpr, after all transformations and before anything is emitted. An equation at
the head of each function makes the function's constants, one `stablehlo.constant` for each array,
and no const args are left. Inlining needs no calling convention, so this is all; the pass is the
engine's (`engine/ir/inlining.py`), because simplified inlines, too, where it does not hoist.

Source: JAX's note "Handling of closed-over constants", section "Previous implementation".
"""

from __future__ import annotations

from engine.configuration.choices import NO_CHOICES, Choices
from engine.ir.inlining import inlined
from engine.ir.jaxprs import ClosedJaxpr
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
    return LoweringPlan(inlined(closed_jaxpr, embed_threshold))
