"""Export, legacy: the exported module contains its constants, so none can be kept beside it.

Source: JAX's "Exporting and serializing staged-out computations", and its note "Handling of
closed-over constants", section "Previous implementation".
"""

from __future__ import annotations

from typing import NoReturn

from engine.configuration.choices import Choices
from engine.ir.jaxprs import ClosedJaxpr


def hoist_for_export(closed_jaxpr: ClosedJaxpr, embed_threshold: int, choices: Choices) -> NoReturn:
    """Raise ValueError: a legacy program has no const args to export beside it."""
    del closed_jaxpr, embed_threshold, choices
    raise ValueError(
        "hoist_constants=True needs the simplified pipeline, and this function was traced for the "
        "legacy one, which inlines its constants; use engine.jit(f, constants='simplified')"
    )
