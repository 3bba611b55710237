"""The legacy pipeline: its form of jaxprs, and its steps in order."""

from __future__ import annotations

from engine.pipeline import Pipeline
from legacy_closedjaxpr.const_args import const_args
from legacy_closedjaxpr.export import hoist_for_export
from legacy_closedjaxpr.lowering import plan
from legacy_closedjaxpr.tracing import normalize

PIPELINE = Pipeline(
    side="legacy",
    arrays_are_literals=False,
    normalize=normalize,
    plan=plan,
    const_args=const_args,
    hoist_for_export=hoist_for_export,
)
