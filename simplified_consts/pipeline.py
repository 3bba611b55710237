"""The simplified pipeline: its steps, in order."""

from __future__ import annotations

from engine.pipeline import Pipeline
from simplified_consts import execution, export, lowering, tracing

PIPELINE = Pipeline(
    side="simplified",
    normalize=tracing.normalize,
    plan=lowering.plan,
    const_args=execution.const_args,
    hoist_for_export=export.hoist_for_export,
)
