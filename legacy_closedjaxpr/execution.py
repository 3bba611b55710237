"""Execution, legacy: the executable contains its constants, so a call passes the arguments alone.

Source: the constants note (seed 000), "Previous implementation".
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from engine.pipeline import LoweringPlan


def operands(plan: LoweringPlan, donated: Sequence[Any]) -> tuple[Any, ...]:
    """No const args are passed."""
    del plan, donated
    return ()
