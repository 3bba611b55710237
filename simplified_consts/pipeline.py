"""The simplified pipeline: its steps, in order."""

from __future__ import annotations

from engine.programs import Pipeline
from simplified_consts import execution, lowering, tracing

PIPELINE = Pipeline(
    side="simplified",
    normalize=tracing.normalize,
    plan=lowering.plan,
    operands=execution.operands,
)
