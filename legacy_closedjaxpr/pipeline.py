"""The legacy pipeline: its steps, in order."""

from __future__ import annotations

from engine.pipeline import Pipeline
from legacy_closedjaxpr import execution, export, lowering, tracing

PIPELINE = Pipeline(
    side="legacy",
    normalize=tracing.normalize,
    plan=lowering.plan,
    const_args=execution.const_args,
    hoist_for_export=export.hoist_for_export,
)
