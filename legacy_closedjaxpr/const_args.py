"""Const args, legacy: none; the executable contains its constants, a call passes the arguments.

Source: JAX's note "Handling of closed-over constants", section "Previous implementation".
"""

from __future__ import annotations

from typing import Any

from engine.pipeline import ConstArgsRequest, LoweringPlan


def const_args(plan: LoweringPlan, request: ConstArgsRequest) -> tuple[Any, ...]:
    """Return the const args as a call passes them: none."""
    del plan, request
    return ()
