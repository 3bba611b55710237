"""The legacy pipeline: its steps, in order."""

from __future__ import annotations

from engine.programs import Pipeline
from legacy_closedjaxpr import execution, lowering, tracing

PIPELINE = Pipeline(
    side="legacy",
    normalize=tracing.normalize,
    plan=lowering.plan,
    operands=execution.operands,
)
