"""Run a lowered program: compile or find its executable, place its const args, and call it.

Only calls that jaxlib's dispatcher cannot make alone come here: first calls, and all calls of
programs with effects.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any

from engine import jax_internals
from engine.pipeline import LoweringPlan
from engine.runtime.device_pool import place
from engine.runtime.executable_cache import compile_shared

# The last placement of a plan: the executable, its const args, and the arrays placed for them. The
# dispatcher holds these arrays, too, but not for programs with effects, which it does not call.
_Placement = tuple[jax_internals.Executable, Sequence[Any], Sequence[Any]]
_last_placement: weakref.WeakKeyDictionary[LoweringPlan, _Placement] = weakref.WeakKeyDictionary()


def run(
    computation: jax_internals.Computation, operands: Sequence[Any], plan: LoweringPlan | None
) -> tuple[Sequence[Any], jax_internals.Executable, Sequence[Any]]:
    """Return the outputs, the executable, and its const args as placed on its devices.

    Placed const args live as long as the plan, or until the plan runs elsewhere. Without a plan
    nothing keeps them.

    Source: `_pjit_call_impl_python` (jax 0.10.2).
    """
    executable = compile_shared(computation)
    placed = _placed_before(executable, computation.const_args, plan) if plan else None
    if placed is None:
        placed = place(executable, computation.const_args)
        if placed and plan:
            _last_placement[plan] = executable, computation.const_args, placed
    passed = map(jax_internals.with_buffer, computation.const_args, placed)
    return executable.unsafe_call(*passed, *operands), executable, placed


def _placed_before(
    executable: jax_internals.Executable, const_args: Sequence[Any], plan: LoweringPlan
) -> Sequence[Any] | None:
    last_executable, last_const_args, placed = _last_placement.get(plan, (None, (), ()))
    if last_executable is not executable or len(last_const_args) != len(const_args):
        return None
    is_same = all(one is other for one, other in zip(last_const_args, const_args, strict=True))
    return placed if is_same and not any(array.is_deleted() for array in placed) else None
