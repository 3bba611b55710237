"""The part of a program that depends on constants alone: its values, and its operations.

`simplified_consts/preamble/constant_search.py` finds it in a program.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from engine.ir.jaxprs import Body, JaxprEqn, Var


@dataclass(frozen=True, eq=False)
class ProgramConstant:
    """A constant of the program itself: a captured array, or a scalar Literal."""

    value: Any
    atom: Any  # the Literal or the constvar

    @property
    def nbytes(self) -> int:
        """Bytes of the array; 0 for a Python scalar."""
        return getattr(self.value, "nbytes", 0)


@dataclass(frozen=True, eq=False)
class Computed:
    """A result of an equation that depends on constants alone."""

    operation: Operation
    aval: Any

    @property
    def nbytes(self) -> int:
        """Bytes of the result."""
        nbytes: int = math.prod(self.aval.shape) * self.aval.dtype.itemsize
        return nbytes


Known = ProgramConstant | Computed


@dataclass(eq=False)
class Operation:
    """An equation that depends on constants alone; `work` counts its scalar operations per call.

    `inputs` are its operands, `within` the arrays that its bodies captured, and `scope` is the name
    stack of the functions and loops around it.
    """

    eqn: JaxprEqn
    inputs: tuple[Known, ...]
    within: tuple[ProgramConstant, ...]
    work: float
    scope: Any
    outputs: list[Computed] = field(default_factory=list)

    @property
    def reads(self) -> tuple[Known, ...]:
        """All values that it is computed from."""
        return self.inputs + self.within


@dataclass(eq=False)
class Scope:
    """One body of a program, and the known values in it.

    Two maps from the index of an equation: `within` to the scopes of its bodies, and `constant` to
    its operation if it depends on constants alone.
    """

    body: Body
    known: dict[Var, Known] = field(default_factory=dict)
    within: dict[int, list[Scope]] = field(default_factory=dict)
    constant: dict[int, Operation] = field(default_factory=dict)


@dataclass(frozen=True)
class ConstantGraph:
    """The operations of a program, in an order in which they can run.

    `demanded` are the known values that the other equations and the outputs of the program read.
    """

    program: Scope
    operations: Sequence[Operation]
    demanded: Sequence[Known]

    def let_go(self) -> None:
        """Cut the cycles of operations and their results, which keep captured arrays alive."""
        for operation in self.operations:
            operation.outputs.clear()
