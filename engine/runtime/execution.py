"""Run a lowered program: compile or find its executable, place its const args, and call it."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any

from engine import jax_internals
from engine.pipeline import LoweringPlan
from engine.runtime.device_pool import place
from engine.runtime.executable_cache import compile_shared

# What lies on devices for a plan: the executable, its const args, and where these were placed. The
# dispatcher holds that, too, but not for programs with effects, whose calls all come through here.
_Placed = tuple[jax_internals.Executable, Sequence[Any], Sequence[Any]]
_placed: weakref.WeakKeyDictionary[LoweringPlan, _Placed] = weakref.WeakKeyDictionary()


def run(
    computation: jax_internals.Computation, operands: Sequence[Any], plan: LoweringPlan | None
) -> tuple[Sequence[Any], jax_internals.Executable, Sequence[Any]]:
    """Return the outputs, the executable, and the const args as they lie on its devices.

    Those stay there as long as the plan, until it is run elsewhere; without a plan nothing stays.

    Source: `_pjit_call_impl_python` (jax 0.10.2).
    """
    executable = compile_shared(computation)
    const_args = _placed_before(executable, computation.const_args, plan) if plan else None
    if const_args is None:
        const_args = place(executable, computation.const_args)
        if const_args and plan:
            _placed[plan] = executable, computation.const_args, const_args
    return executable.unsafe_call(*const_args, *operands), executable, const_args


def _placed_before(
    executable: jax_internals.Executable, const_args: Sequence[Any], plan: LoweringPlan
) -> Sequence[Any] | None:
    own, before, placed = _placed.get(plan, (None, (), ()))
    if own is not executable or len(before) != len(const_args):
        return None
    same = all(one is other for one, other in zip(before, const_args, strict=True))
    return placed if same and not any(array.is_deleted() for array in placed) else None
