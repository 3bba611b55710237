"""Report which arrays a program captured and where, and warn if they are large.

JAX's settings decide: `jax_captured_constants_warn_bytes` (-1 never warns) and
`jax_captured_constants_report_frames` (0 reports no places, -1 all frames). Both pipelines warn
about the total of a program and about each constant that reaches the limit alone. Stock JAX warns
about totals in one mode and about single constants in the other (jax 0.10.2), so each mode misses
programs that the other one reports.
"""

from __future__ import annotations

import warnings
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np

from engine import jax_internals
from engine.ir.jaxprs import ClosedJaxpr, Literal, bodies_in, constant_key, consts_of, values_in


@dataclass(frozen=True, eq=False)
class CapturedConstant:
    """A captured array and the places that use it: the argument of a constant policy.

    `nbytes` is its size in bytes. `source_infos` are JAX's source records of the equations that use
    it, in program order.
    """

    value: Any
    nbytes: int
    source_infos: tuple[Any, ...] = ()

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the array."""
        return tuple(self.value.shape)

    @property
    def dtype(self) -> Any:
        """The dtype of the array; one of JAX's extended dtypes for typed PRNG keys."""
        return self.value.dtype

    @property
    def aval(self) -> str:
        """The type of the array as JAX writes it, as in `float32[64,64]`."""
        return jax_internals.typeof(self.value).str_short()

    def captured_at(self) -> tuple[str, int, str] | None:
        """Return file, line and function of the first use; None if the array is only an output."""
        for info in self.source_infos:
            if frames := jax_internals.user_frames(info, 1):
                return frames[0]
        return None

    def describe(self) -> str:
        """Describe type, shape and size, as in `ArrayImpl float32[64,64] (16384 bytes)`."""
        return f"{type(self.value).__name__} {self.aval} ({self.nbytes} bytes)"


def captured_constants(closed_jaxpr: ClosedJaxpr) -> list[CapturedConstant]:
    """Return the arrays that a program captured, in either form, unique by identity, largest first.

    Scalars are left out.

    Example::

        for constant in captured_constants(engine.jit(f).trace(x).jaxpr):
            print(constant.describe(), constant.captured_at())
    """
    found: dict[Hashable, tuple[Any, list[Any]]] = {}

    def note(value: Any, source_info: Any = None) -> None:
        if np.ndim(value) == 0 or jax_internals.is_tracer(value):
            return
        _, source_infos = found.setdefault(constant_key(value), (value, []))
        if source_info is not None:
            source_infos.append(source_info)

    for body in bodies_in(closed_jaxpr):
        consts = consts_of(body)
        values = dict(zip(body.constvars, consts, strict=True)) if consts else {}
        for value in values.values():
            note(value)
        for atom in body.outvars:
            if isinstance(atom, Literal):
                note(atom.val)
        for eqn in body.eqns:
            for atom in eqn.invars:
                if isinstance(atom, Literal):
                    note(atom.val, eqn.source_info)
                elif atom in values:
                    note(values[atom], eqn.source_info)
    constants = [
        CapturedConstant(value, jax_internals.nbytes(value), tuple(source_infos))
        for value, source_infos in found.values()
    ]
    return sorted(constants, key=lambda constant: -constant.nbytes)


def warn_of_large_constants(closed_jaxpr: ClosedJaxpr) -> None:
    """Warn (UserWarning) if the captured arrays of a program reach the limit in JAX's settings."""
    limit, frames = jax_internals.captured_constants_limits()
    if limit < 0:
        return
    # This sum counts an array at each use, so it is an upper bound of the total. Nearly all
    # programs stay below the limit; only the others pay for the search by array and place.
    if sum(map(jax_internals.nbytes, values_in(closed_jaxpr))) < limit:
        return
    constants = captured_constants(closed_jaxpr)
    total = sum(constant.nbytes for constant in constants)
    if not total or total < limit:
        return
    where = closed_jaxpr.jaxpr.debug_info.func_src_info
    for constant in constants:
        if constant.nbytes >= limit:
            warnings.warn(
                f"Closed-over constant {constant.describe()} in {where}"
                + _places(constant, frames, " used at:"),
                stacklevel=2,
            )
    report = "".join(
        f"\n  {constant.describe()}{_places(constant, frames, ' captured at:')}"
        for constant in constants
    )
    hint = (
        "To obtain a report of where these constants were encountered, set "
        "JAX_CAPTURED_CONSTANTS_REPORT_FRAMES=-1."
        if frames == 0
        else f"They are, largest first:{report}"
    )
    warnings.warn(
        f"A large amount of constants were captured during lowering of {where}: {total} bytes in "
        f"{len(constants)} arrays. If this is intentional, disable this warning by setting "
        f"JAX_CAPTURED_CONSTANTS_WARN_BYTES=-1. {hint}",
        stacklevel=2,
    )


def _places(constant: CapturedConstant, frames: int, intro: str) -> str:
    if frames == 0:
        return ""
    lines = [intro]
    for info in constant.source_infos:
        for file, line, function in jax_internals.user_frames(info, frames):
            lines.append(f"    {file}:{line} ({function})")
    return "\n".join(lines) if len(lines) > 1 else ""
