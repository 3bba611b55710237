"""Sameness: whether two jaxprs are one program, whichever form their captured arrays have.

In legacy a captured array is a constvar and leads the operands of each body that uses it; in
simplified it stands in Literals. Neither counts here: an operand is a captured value, or the
result of an earlier equation.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Sequence
from typing import Any

from parity_tests.jaxpr.bodies import CONST_COUNTS, bodies_in, bodies_of
from parity_tests.jaxpr.captured import captured_value
from parity_tests.jaxpr.interpreter import evaluate
from parity_tests.jaxpr.rewriting import live_part

# Parameters that count the operands that hold captured arrays, or the operands one by one.
_COUNTS = (*CONST_COUNTS, "const_lengths")
_SIMPLE = (bool, int, float, str, type(None))
_ADDRESS = re.compile(r" at 0x[0-9a-fA-FX]+")


def is_same_program(left: Any, right: Any) -> bool:
    """Say whether two closed_jaxprs compute the same by the same equations, but for dead code."""
    return _described(left) == _described(right)


def _described(closed: Any) -> list[Hashable]:
    live = live_part(closed)
    walk = _Walk()
    inputs = [walk.new() for _ in live.jaxpr.invars]
    outputs = evaluate(live, inputs, walk)
    return [*walk.equations, *outputs]


class _Walk:
    """Describes the equations in their order; a value is a number, a captured value its digest."""

    def __init__(self) -> None:
        self.equations: list[Hashable] = []
        self._count = 0

    def new(self) -> Hashable:
        self._count += 1
        return self._count

    def constant(self, value: Any, aval: Any) -> Hashable:
        array = captured_value(value)
        text = repr(value) if array is None else array.digest()
        scalar = array is None and hasattr(value, "item")  # 2.0 of Python and of NumPy alike
        return ("constant", str(aval.dtype), repr(value.item()) if scalar else text)

    def unbound(self, var: Any) -> Hashable:
        return ("unbound", str(var.aval))

    def literal(self, literal: Any) -> Hashable:
        return self.constant(literal.val, literal.aval)

    def equation(self, equation: Any, operands: list[Hashable]) -> Sequence[Hashable]:
        bodies = bodies_of(equation)
        # An operand that only hands a captured array to a body is not there in the other form. A
        # first carry, or what a scatter adds, is there in both.
        handed = {number for body in bodies for number in body.operands or ()}
        shown = [
            each
            for number, each in enumerate(operands)
            if not (number in handed and isinstance(each, tuple))
        ]
        self.equations.append((equation.primitive.name, tuple(shown), self._params(equation)))
        for body in bodies:
            # New numbers for the inputs of a body that no captured value stands for.
            inputs = [
                each if isinstance(each, tuple) else self.new() for each in body.inputs(operands, 0)
            ]
            self.equations.append(("outputs", *evaluate(body.jaxpr, inputs, self)))
        results = [self.new() for _ in equation.outvars]
        self.equations.append(tuple(str(var.aval) for var in equation.outvars))
        return results

    def _params(self, equation: Any) -> tuple[Hashable, ...]:
        has_bodies = any(True for _ in bodies_in(equation.params.values()))
        kept = {
            name: value
            for name, value in equation.params.items()
            if name not in _COUNTS and (not has_bodies or isinstance(value, _SIMPLE))
        }
        return tuple(f"{name}={_ADDRESS.sub('', repr(kept[name]))}" for name in sorted(kept))
