"""The simplified pipeline: its form of jaxprs, and its steps in order."""

from __future__ import annotations

from engine.pipeline import Pipeline
from simplified_consts.const_args import const_args
from simplified_consts.export import hoist_for_export
from simplified_consts.lowering import plan
from simplified_consts.tracing import normalize

PIPELINE = Pipeline(
    side="simplified",
    arrays_are_literals=True,
    normalize=normalize,
    plan=plan,
    const_args=const_args,
    hoist_for_export=hoist_for_export,
)
