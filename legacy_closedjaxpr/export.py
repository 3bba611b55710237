"""Export, legacy: the exported module contains its constants, and that is the only way.

Source: the export document (seed 003); the constants note (seed 000), "Previous implementation".
"""

from __future__ import annotations

from typing import NoReturn

from engine.configuration.choices import Choices
from engine.ir.jaxprs import ClosedJaxpr


def hoist_for_export(closed_jaxpr: ClosedJaxpr, max_bytes: int, choices: Choices) -> NoReturn:
    """Raise ValueError: a legacy program has no const args that could be exported beside it."""
    del closed_jaxpr, max_bytes, choices
    raise ValueError(
        "hoist_constants=True needs the simplified pipeline, and this function was traced for the "
        "legacy one, which inlines its constants; use engine.jit(f, constants='simplified')"
    )
