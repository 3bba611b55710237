"""Find the part of a program that depends on constants alone: values, and equations that make them.

A constant reaches an equation as a Literal, as a constvar, or as an operand that is passed down to
a body, so bodies are searched, too. An equation in the body of a loop is constant if it reads
neither the carry nor a slice, so constant equations are also loop-invariant. A body that two
equations share is searched once for each choice of known inputs.

Nothing is judged here; `simplified_consts/preamble/profitability.py` does.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from engine import jax_internals
from engine.ir.jaxprs import (
    Body,
    ClosedJaxpr,
    JaxprEqn,
    Literal,
    bodies_of,
    constant_key,
    consts_of,
    jaxpr_const_args,
)
from engine.jax_internals import is_body
from simplified_consts.preamble.constant_graph import (
    Computed,
    ConstantGraph,
    Known,
    Operation,
    ProgramConstant,
    Scope,
)
from simplified_consts.preamble.operation_cost import TURNS, Work, WorkTable
from simplified_consts.preamble.program_key import meaning_of_param

# Scalar operations, at most, of one equation that may be computed in vain: they take some seconds.
MOST_UNCERTAIN = 2.0**34

# Primitives that call one body once: the operands are its inputs, its outputs are the results.
CALLS = frozenset(
    {
        "checkpoint", "closed_call", "call", "custom_jvp_call", "custom_vjp_call",
        "eval_jaxpr", "jit", "remat2",
    }
)  # fmt: skip


def constant_graph(
    closed_jaxpr: ClosedJaxpr,
    is_constant: Callable[[Any], bool],
    representative: Callable[[Any], Any],
) -> ConstantGraph:
    """Find what depends on constants alone; `is_constant` may exclude captured arrays.

    `representative` returns the array that stands for an equal one. Equal computations from the
    same values in two places are one operation.

    Never constant: mutable references; arrays on devices of other processes; arrays outside the
    default memory of their device; arrays sharded over other devices than the first sharded one.

    Example::

        constant_graph(closed_jaxpr, lambda value: True, lambda value: value).operations
    """
    walk = _Walk(is_constant, representative)
    program = walk.scope(closed_jaxpr, [None] * len(closed_jaxpr.invars), _Place())
    for atom in program.body.outvars:
        walk.demand(walk.look_up(program, atom))
    return ConstantGraph(program, walk.operations, list(walk.demanded))


@dataclass(frozen=True)
class _Place:
    """How a call reaches a body: how many times, whether it surely does, in which name stack."""

    times: float = 1
    certain: bool = True
    stack: Any = jax_internals.NO_NAMES

    def inside(self, eqn: JaxprEqn, times: float = 1, certain: bool = True) -> _Place:
        stack = jax_internals.names_inside(self.stack, eqn)
        return _Place(self.times * times, self.certain and certain, stack)


class _Walk:
    def __init__(
        self, is_constant: Callable[[Any], bool], representative: Callable[[Any], Any]
    ) -> None:
        self._is_constant = is_constant
        self._representative = representative
        self._by_meaning: dict[Hashable, Operation] = {}
        self._work = WorkTable()
        self._captured: dict[Hashable, ProgramConstant | None] = {}
        self._by_value: dict[Hashable, ProgramConstant] = {}
        self._scopes: dict[tuple[Any, ...], Scope] = {}
        self._devices: set[Any] | None = None
        self.operations: list[Operation] = []
        self.demanded: dict[Known, None] = {}

    def demand(self, known: Known | None) -> None:
        if known is not None:
            self.demanded.setdefault(known)

    def look_up(self, scope: Scope, atom: Any) -> Known | None:
        if isinstance(atom, Literal):
            return self.captured(atom.val, atom)
        return scope.known.get(atom)

    def captured(self, value: Any, atom: Any) -> ProgramConstant | None:
        key = constant_key(value) if _is_array(value) else id(atom)
        if key not in self._captured:
            captured = None
            if self._is_usable(value) and self._is_constant(value):
                if _is_array(value):
                    value = self._representative(value)
                    captured = self._by_value.setdefault(
                        constant_key(value), ProgramConstant(value, atom)
                    )
                else:
                    captured = ProgramConstant(value, atom)
            self._captured[key] = captured
        return self._captured[key]

    def _is_usable(self, value: Any) -> bool:
        if not _is_array(value):
            return True
        if jax_internals.is_tracer(value) or jax_internals.is_reference(value):
            return False
        if not isinstance(value, jax.Array):
            return True
        devices = value.sharding.device_set
        if not value.is_fully_addressable or not jax_internals.in_default_memory(value):
            return False
        if len(devices) > 1:
            self._devices = self._devices or devices
            return devices == self._devices
        return True

    def scope(self, body: Body, given: Sequence[Known | None], place: _Place) -> Scope:
        key = (id(body), *map(id, given), place.times, place.certain)
        if key not in self._scopes:
            self._scopes[key] = self._walk(body, given, place)
        return self._scopes[key]

    def _walk(self, body: Body, given: Sequence[Known | None], place: _Place) -> Scope:
        scope = Scope(body)
        consts = consts_of(body)
        for var, value in zip(body.constvars, consts, strict=True) if consts else ():
            if (known := self.captured(value, var)) is not None:
                scope.known[var] = known
        for var, passed in zip(body.invars, given, strict=True):
            if passed is not None:
                scope.known[var] = passed
        for index, eqn in enumerate(body.eqns):
            inputs = [self.look_up(scope, atom) for atom in eqn.invars]
            if eqn.primitive.name in CALLS and jax_internals.is_plain_equation(eqn):
                self._enter_call(scope, index, eqn, inputs, place)
            elif (work := self._movable(eqn, inputs, place)) is not None:
                within = [self.captured(value, None) for value in _captured_in_bodies(eqn)]
                operations = work.operations * place.times
                self._note(scope, index, eqn, (inputs, within), operations, place)
            elif not self._enter(scope, index, eqn, inputs, place):
                for passed in inputs:
                    self.demand(passed)
                for value in _captured_in_bodies(eqn):
                    self.demand(self.captured(value, None))
        return scope

    def _movable(self, eqn: JaxprEqn, inputs: Sequence[Known | None], place: _Place) -> Work | None:
        if any(known is None for known in inputs):
            return None
        work = self._work.of(eqn)
        if work is None:
            return None
        if not place.certain and (work.may_not_end or work.operations > MOST_UNCERTAIN):
            return None  # a call does not reach branches not taken and loops without turns
        if any(self.captured(value, None) is None for value in _captured_in_bodies(eqn)):
            return None
        return work

    def _note(
        self,
        scope: Scope,
        index: int,
        eqn: JaxprEqn,
        read: tuple[Sequence[Known | None], Sequence[ProgramConstant | None]],
        work: float,
        place: _Place,
    ) -> None:
        inputs = tuple(value for value in read[0] if value is not None)
        within = tuple(value for value in read[1] if value is not None)
        key = (
            eqn.primitive,
            tuple(map(_identity, inputs)),
            tuple(map(_identity, within)),
            tuple((name, _identity_of_param(value)) for name, value in eqn.params.items()),
            tuple(var.aval for var in eqn.outvars),
            id(eqn.ctx),
        )
        operation = self._by_meaning.get(key)
        if operation is None:
            operation = Operation(eqn, inputs, within, work, place.stack)
            operation.outputs = [Computed(operation, var.aval) for var in eqn.outvars]
            self._by_meaning[key] = operation
            self.operations.append(operation)
        else:
            operation.work += work
        scope.known.update(zip(eqn.outvars, operation.outputs, strict=True))
        scope.constant[index] = operation

    def _enter_call(
        self,
        scope: Scope,
        index: int,
        eqn: JaxprEqn,
        inputs: Sequence[Known | None],
        place: _Place,
    ) -> None:
        [body] = bodies_of(eqn)
        inner = self.scope(body, inputs, place.inside(eqn))
        scope.within[index] = [inner]
        for var, atom in zip(eqn.outvars, inner.body.outvars, strict=True):
            if (known := self.look_up(inner, atom)) is not None:
                scope.known[var] = known

    def _enter(
        self,
        scope: Scope,
        index: int,
        eqn: JaxprEqn,
        inputs: Sequence[Known | None],
        place: _Place,
    ) -> bool:
        """Search the bodies of control flow; False if `bodies_within` finds none."""
        bodies = list(bodies_within(eqn))
        for body, first, count in bodies:
            given = [*inputs[first : first + count], *[None] * (len(body.invars) - count)]
            inner = self.scope(body, given, _place_of(eqn, body, place))
            scope.within.setdefault(index, []).append(inner)
            for atom in inner.body.outvars:
                self.demand(self.look_up(inner, atom))
        passed = {i for _, first, count in bodies for i in range(first, first + count)}
        if bodies:
            for i, known in enumerate(inputs):
                if i not in passed:
                    self.demand(known)
        return bool(bodies)


def _identity(known: Known) -> Hashable:
    """Key of a known value; equal scalar Literals have equal keys wherever they stand."""
    if isinstance(known, ProgramConstant) and not np.ndim(known.value):
        return meaning_of_param(known.value), known.atom.aval
    return id(known)  # the graph holds it, which prevents reuse of its id


def _identity_of_param(param: Any) -> Hashable:
    """`meaning_of_param`, but by identity for bodies: their meaning would be costly in sum."""
    if is_body(param):
        return id(param)
    if isinstance(param, (tuple, list)):
        return type(param), tuple(map(_identity_of_param, param))
    return meaning_of_param(param)


def _captured_in_bodies(eqn: JaxprEqn) -> list[Any]:
    return [value for body in bodies_of(eqn) for value in jaxpr_const_args(body, 0)]


def bodies_within(eqn: JaxprEqn) -> Iterator[tuple[Body, int, int]]:
    """Yield the bodies of control flow, each with the index and the number of operands passed.

    These operands are the leading inputs of the body; its other inputs change from turn to turn.
    """
    name, params = eqn.primitive.name, eqn.params
    if name == "scan":
        yield params["jaxpr"], 0, jax_internals.num_scan_consts(params)
    elif name == "while":
        yield params["cond_jaxpr"], 0, params["cond_nconsts"]
        yield params["body_jaxpr"], params["cond_nconsts"], params["body_nconsts"]
    elif name == "cond" and params.get("branches_platforms") is None:
        # Branches by platform are left out: those of other platforms may not compile here.
        for branch in params["branches"]:
            yield branch, 1, len(eqn.invars) - 1


def _place_of(eqn: JaxprEqn, body: Any, place: _Place) -> _Place:
    name, params = eqn.primitive.name, eqn.params
    if name == "scan":
        return place.inside(eqn, params["length"], certain=params["length"] > 0)
    if name == "while":
        return place.inside(eqn, TURNS, certain=body is params["cond_jaxpr"])
    return place.inside(eqn, certain=False)


def _is_array(value: Any) -> bool:
    return isinstance(value, (jax.Array, np.ndarray)) or jax_internals.is_reference(value)
