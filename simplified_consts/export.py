"""Export, simplified: const args may become inputs of the exported module, kept beside it.

A plain export inlines them, as JAX does, because JAX's format has no place for arrays. The file of
a hoisted export has.

Source: JAX's "Exporting and serializing staged-out computations", and its note "Handling of
closed-over constants", section "Lowering".
"""

from __future__ import annotations

from engine.configuration.choices import Choices
from engine.ir.jaxprs import ClosedJaxpr
from engine.pipeline import LoweringPlan
from simplified_consts import lowering


def hoist_for_export(
    closed_jaxpr: ClosedJaxpr, embed_threshold: int, choices: Choices
) -> LoweringPlan:
    """Hoist the constants that a call would hoist: those above the embed threshold, each once.

    There is no preamble: it would run on a device, and an export has none. Raises ValueError and
    NotImplementedError where a call would.
    """
    without_preamble = choices._replace(precompute="off")
    return lowering.plan(closed_jaxpr, embed_threshold, True, without_preamble)
