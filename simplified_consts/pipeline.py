"""The simplified pipeline: its steps, in order."""

from __future__ import annotations

import os

from engine import jax_internals
from engine.pipeline import Pipeline
from simplified_consts import execution, export, lowering, tracing

jax_internals.hide_from_tracebacks(os.path.dirname(__file__))

PIPELINE = Pipeline(
    side="simplified",
    normalize=tracing.normalize,
    plan=lowering.plan,
    operands=execution.operands,
    hoist_for_export=export.hoist_for_export,
)
