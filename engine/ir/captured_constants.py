"""Report which arrays a program captured and where, and warn if they are large.

JAX's settings decide: `jax_captured_constants_warn_bytes` (-1 never warns) and
`jax_captured_constants_report_frames` (0 reports no places, -1 all frames). Both pipelines warn
about the total of a program and about each use of a constant that reaches the limit alone. Stock
JAX warns about totals in one mode and about single constants in the other (jax 0.10.2), so each
mode misses programs that the other one reports.
"""

from __future__ import annotations

import weakref
from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from engine import jax_internals
from engine.ir.jaxprs import (
    ClosedJaxpr,
    JaxprEqn,
    Literal,
    bodies_in,
    constant_key,
    consts_of,
    values_in,
)


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
        return str(jax_internals.typeof(self.value).str_short())

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
    for use in _uses(closed_jaxpr):
        _, source_infos = found.setdefault(constant_key(use.value), (use.value, []))
        if use.eqn is not None:
            source_infos.append(use.eqn.source_info)
    constants = [
        CapturedConstant(value, jax_internals.nbytes(value), tuple(source_infos))
        for value, source_infos in found.values()
    ]
    return sorted(constants, key=lambda constant: -constant.nbytes)


class _Use(NamedTuple):
    """An occurrence of a captured array: a variable with its value, or a Literal.

    `eqn` is None for a constvar itself, and for an output.
    """

    value: Any
    aval: Any
    eqn: JaxprEqn | None
    debug_info: Any


def _uses(closed_jaxpr: ClosedJaxpr) -> Iterator[_Use]:
    """Yield the uses of captured arrays in a program, in program order; scalars are left out."""
    for body in bodies_in(closed_jaxpr):
        consts = consts_of(body)
        values = dict(zip(body.constvars, consts, strict=True)) if consts else {}
        found: list[tuple[Any, Any, JaxprEqn | None]] = [
            (value, var, None) for var, value in values.items()
        ]
        found += [(atom.val, atom, None) for atom in body.outvars if isinstance(atom, Literal)]
        for eqn in body.eqns:
            for atom in eqn.invars:
                if isinstance(atom, Literal):
                    found.append((atom.val, atom, eqn))
                elif atom in values:
                    found.append((values[atom], atom, eqn))
        for value, atom, user in found:
            if np.ndim(value) and not jax_internals.is_tracer(value):
                yield _Use(value, atom.aval, user, body.debug_info)


# Programs whose large constants were reported: the same program is lowered for several placements.
_reported: weakref.WeakSet[ClosedJaxpr] = weakref.WeakSet()


def warn_of_large_constants(closed_jaxpr: ClosedJaxpr) -> None:
    """Warn (UserWarning) if the captured arrays of a program reach the limit in JAX's settings.

    Once for each program. JAX writes the text, so that it has the words of the installed version.
    """
    limit = jax_internals.captured_constants_warn_bytes()
    if limit < 0:
        return
    # This sum counts an array at each use, so it is an upper bound of the total. Nearly all
    # programs stay below the limit; only the others pay for the search by array and place.
    if sum(map(jax_internals.nbytes, values_in(closed_jaxpr))) < limit:
        return
    if closed_jaxpr in _reported:
        return
    users_of: dict[Hashable, tuple[_Use, list[tuple[JaxprEqn, Any]]]] = {}
    for use in _uses(closed_jaxpr):
        _, users = users_of.setdefault(constant_key(use.value), (use, []))
        if use.eqn is not None:
            users.append((use.eqn, use.debug_info))
    total = sum(jax_internals.nbytes(use.value) for use, _ in users_of.values())
    if not total or total < limit:
        return
    for each, users in users_of.values():
        if jax_internals.nbytes(each.value) >= max(limit, 1):
            for eqn, debug_info in users:
                jax_internals.warn_of_constant(each.value, each.aval, eqn, debug_info)
    jax_internals.warn_of_total(
        [(each.value, each.aval, [eqn for eqn, _ in users]) for each, users in users_of.values()]
    )
    _reported.add(closed_jaxpr)
