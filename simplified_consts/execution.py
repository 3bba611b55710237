"""Execution, simplified: const args are passed before the arguments, in C++ after the first call.

Whoever calls passes the arguments of the user alone; the cache misses prepend the const args, and
jaxlib's dispatcher holds them from then on (`MeshExecutableFastpathData.const_args`). The arguments
of the user decide the placement of a computation, so a captured array on one device is passed as
uncommitted and follows them; an array over several devices keeps its sharding.

Source: the constants note (seed 000), "Compilation and execution".
"""

from __future__ import annotations

from typing import Any

from engine import jax_internals
from engine.programs import LoweringPlan


def operands(plan: LoweringPlan) -> tuple[Any, ...]:
    """The const args as they are passed: views that share the buffers of the captured arrays."""
    return tuple(jax_internals.uncommitted(constant) for constant in plan.const_args)
