"""Work on constants alone: the equations that need nothing but captured arrays.

XLA computes them while it compiles where the arrays are inlined (legacy), and at every call where
they are arguments (simplified).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import jax
from jax.extend import core

from parity_tests.jaxpr.bodies import CALLS, bodies_of, constants_of, inner
from parity_tests.jaxpr.counts import captured
from parity_tests.jaxpr.places import NOWHERE, Place, place_of

# They move or relabel elements, which a fusion does for nothing.
TRIVIAL = frozenset(
    {
        "bitcast_convert_type", "broadcast_in_dim", "convert_element_type", "copy", "copy_p",
        "expand_dims", "pvary", "reshape", "slice", "squeeze", "stop_gradient",
    }
)  # fmt: skip


@dataclass(frozen=True)
class ConstantWork:
    """The equations of a program that depend on captured arrays alone, and are not trivial.

    `place` is where the first of them was made, `bytes` the size of their results.
    """

    equations: tuple[Any, ...]
    place: Place
    bytes: int


class _Origin(IntEnum):
    """What a value depends on; the larger of two prevails."""

    NOTHING = 0  # scalars and what is made of them
    CAPTURED = 1
    ARGUMENTS = 2


def constant_work(closed: Any, *, threshold: int) -> ConstantWork:
    """Return the equations of a live closed_jaxpr that depend on captured arrays alone.

    Captured arrays of at most `threshold` bytes are inlined in both modes, and do not count. A loop
    is never folded as a whole, an equation in its body may be.

        constant_work(live_part(traced.jaxpr), threshold=32).equations
    """
    walk = _Walk(threshold)
    walk.body(closed, {}, NOWHERE)
    found = tuple(walk.equations.values())
    return ConstantWork(found, walk.place, sum(map(_result_bytes, found)))


def _result_bytes(equation: Any) -> int:
    return sum(math.prod(var.aval.shape) * var.aval.dtype.itemsize for var in equation.outvars)


class _Walk:
    def __init__(self, threshold: int) -> None:
        self.threshold = threshold
        self.equations: dict[int, Any] = {}
        self.place = NOWHERE
        self._visited: dict[tuple[Any, ...], list[_Origin]] = {}

    def body(self, body: Any, given: Mapping[Any, _Origin], within: Place) -> list[_Origin]:
        """Walk a body whose inputs come from where `given` says; return that of its outputs."""
        jaxpr = inner(body)
        visit = (id(jaxpr), *(given.get(var, _Origin.ARGUMENTS) for var in jaxpr.invars))
        if visit not in self._visited:
            constants = {var: self._of_value(value) for var, value in constants_of(body).items()}
            self._visited[visit] = self._walk(jaxpr, {**given, **constants}, within)
        return self._visited[visit]

    def _walk(self, jaxpr: Any, origins: dict[Any, _Origin], within: Place) -> list[_Origin]:
        for equation in jaxpr.eqns:
            inputs = [self._of(atom, origins) for atom in equation.invars]
            origin = max(inputs, default=_Origin.NOTHING)
            if equation.effects:
                origin = _Origin.ARGUMENTS
            bodies = list(bodies_of(equation))
            outputs = [_Origin.ARGUMENTS if bodies else origin] * len(equation.outvars)
            for body, operands in bodies:
                inputs_of_body = zip(inner(body).invars, operands or (), strict=False)
                given = {var: self._of(atom, origins) for var, atom in inputs_of_body}
                found = self.body(body, given, place_of(equation, within))
                if equation.primitive.name in CALLS and len(bodies) == 1 and operands is not None:
                    outputs = found
            if not bodies and origin == _Origin.CAPTURED and _is_work(equation):
                if not self.equations:
                    self.place = place_of(equation, within)
                self.equations[id(equation)] = equation
            origins.update(zip(equation.outvars, outputs, strict=True))
        return [self._of(atom, origins) for atom in jaxpr.outvars]

    def _of(self, atom: Any, origins: Mapping[Any, _Origin]) -> _Origin:
        if atom is None:
            return _Origin.ARGUMENTS
        if isinstance(atom, core.Literal):
            return self._of_value(atom.val)
        return origins.get(atom, _Origin.ARGUMENTS)

    def _of_value(self, value: Any) -> _Origin:
        if isinstance(value, jax.Ref):
            return _Origin.ARGUMENTS
        array = captured(value)
        # Stock JAX inlines typed PRNG keys in both modes.
        is_hoisted = array is not None and not array.key and array.bytes > self.threshold
        return _Origin.CAPTURED if is_hoisted else _Origin.NOTHING


def _is_work(equation: Any) -> bool:
    dtypes = [getattr(var.aval, "dtype", None) for var in equation.outvars]
    return equation.primitive.name not in TRIVIAL and not any(
        dtype is None or jax.dtypes.issubdtype(dtype, jax.dtypes.extended) for dtype in dtypes
    )
