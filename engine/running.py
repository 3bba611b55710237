"""Run a lowered program: compile or find its executable, place its const args, and call it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from engine import jax_internals
from engine.device_pool import place
from engine.executable_sharing import compile_shared


def run(
    computation: jax_internals.Computation, operands: Sequence[Any]
) -> tuple[Sequence[Any], jax_internals.Executable, Sequence[Any]]:
    """Return the outputs, the executable, and the const args as they lie on its devices.

    Source: `_pjit_call_impl_python` (jax 0.10.2).
    """
    executable = compile_shared(computation)
    const_args = place(executable, computation.const_args)
    return executable.unsafe_call(*const_args, *operands), executable, const_args
