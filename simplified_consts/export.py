"""Export, simplified: const args may become inputs of the exported module, kept beside it.

A plain export inlines, as in JAX, whose serialization has no place for arrays; the file of a
hoisted export has one.

Source: the export document (seed 003); the constants note (seed 000), "Lowering".
"""

from __future__ import annotations

from engine.configuration.choices import Choices
from engine.ir.jaxprs import ClosedJaxpr
from engine.pipeline import LoweringPlan
from simplified_consts import lowering


def hoist_for_export(closed_jaxpr: ClosedJaxpr, max_bytes: int, choices: Choices) -> LoweringPlan:
    """Hoist what a call would hoist: the constants larger than `max_bytes`, each array once.

    A preamble runs on a device, and an export is of none: the program is exported as a whole.
    Raises ValueError and NotImplementedError where a call would.
    """
    whole = choices._replace(precompute="off")
    return lowering.plan(closed_jaxpr, max_bytes, True, whole)
