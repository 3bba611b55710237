"""JAX's warnings of large captured constants, written by JAX: the words are those of its version.

JAX warns while it lowers, of what it inlines or hoists itself. The engine lowers programs in which
JAX finds neither, so it hands what it found to the functions that write the warnings.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

from jax._src import config, core
from jax._src.interpreters import mlir


def warn_of_constant(value: Any, aval: Any, eqn: core.JaxprEqn, debug_info: Any) -> None:
    """Warn of one constant and of an equation that uses it, as JAX does where it hoists."""
    literal: Any = SimpleNamespace(val=value, aval=aval)
    with _all_frames_where_asked():
        mlir.log_closed_over_constant(literal, eqn, debug_info)


def warn_of_total(constants: Sequence[tuple[Any, Any, Sequence[core.JaxprEqn]]]) -> None:
    """Warn of all constants of a program, as JAX does where it inlines.

    For each constant its value, its aval and the equations that use it, wherever these are in the
    program. JAX looks for the uses itself, in one jaxpr: it gets one with the uses alone.
    """
    variables = [core.Var(aval) for _, aval, _ in constants]
    uses = [
        SimpleNamespace(invars=[var], params={}, source_info=user.source_info)
        for var, (_, _, users) in zip(variables, constants, strict=True)
        for user in users
    ]
    program: Any = SimpleNamespace(
        consts=[value for value, _, _ in constants], constvars=variables, eqns=uses
    )
    program.jaxpr = program
    with _all_frames_where_asked():
        mlir.check_jaxpr_constants(program)


def _all_frames_where_asked() -> contextlib.AbstractContextManager[None]:
    """Let JAX report all frames for -1, as its message promises; its report fails (jax 0.10.2)."""
    if config.captured_constants_report_frames.value >= 0:
        return contextlib.nullcontext()
    frames: contextlib.AbstractContextManager[None] = config.captured_constants_report_frames(
        sys.maxsize
    )
    return frames
