"""Uses: what reads each array that a program captured, and which of them stock JAX passes."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from jax.extend import core

from parity_tests.jaxpr.bodies import bodies_of, constants_of, folded, inner, structure_of
from parity_tests.jaxpr.captured import CapturedValue, captured_value
from parity_tests.jaxpr.interpreter import Domain, evaluate
from parity_tests.jaxpr.source_places import NOWHERE, Place, place_of, relative


@dataclass(frozen=True)
class CapturedUse:
    """A captured array, how many equations and outputs read it, and where the first of them is.

    An equation that hands the array on to its body is no use; an equation in the body is. So the
    count is the same whether the array is a constvar or stands in Literals. A body that several
    equations share counts once, because it stands in the user's code once.
    """

    array: CapturedValue
    uses: int
    place: Place


def captured_uses(closed: Any) -> tuple[CapturedUse, ...]:
    """Return the arrays that a closed_jaxpr captured, unique by identity, in the order of use.

    Scalars are left out: every mode inlines them.
    """
    walk = _Walk()
    walk.body(closed, [None] * len(closed.jaxpr.invars), NOWHERE)
    where = _function_of(closed)
    return tuple(
        CapturedUse(each.array, len(each.readers), where if each.place is NOWHERE else each.place)
        for each in walk.found.values()
    )


def captured_in_bodies(closed: Any) -> tuple[CapturedValue, ...]:
    """Return the arrays that the bodies of a closed_jaxpr captured, such as those of its jits.

    Where nobody jits the program, its other equations are single calls, and their arrays arguments.

    Example::

        captured_in_bodies(jax.make_jaxpr(lambda x: jitted(x, passed) + added)(x))
    """
    walk = _Walk()
    for equation in inner(closed).eqns:
        for body in bodies_of(equation):
            walk.body(body.jaxpr, [None] * len(inner(body.jaxpr).invars), NOWHERE)
    return tuple(each.array for each in walk.found.values())


def captured_in_other_bodies(closed: Any) -> tuple[CapturedValue, ...]:
    """Return the arrays that bodies captured whose primitive is not in the table of bodies.

    Its rule of lowering may refuse them: that of `reduce` does.

    Example::

        captured_in_other_bodies(jax.make_jaxpr(lambda x: lax.reduce(x, 0.0, f, (0,)))(x))
    """
    walk = _Walk()

    def look(jaxpr: Any, inside: Callable[[Any], None]) -> None:
        for equation in jaxpr.eqns:
            for body in bodies_of(equation):
                inside(body.jaxpr)
                if structure_of(equation) is None:
                    walk.body(body.jaxpr, [None] * len(inner(body.jaxpr).invars), NOWHERE)

    folded(closed, look)
    return tuple(each.array for each in walk.found.values())


@dataclass
class _Found:
    array: CapturedValue
    place: Place = NOWHERE
    readers: set[tuple[int, int]] = field(default_factory=set)


class _Walk:
    """The arrays found so far, by identity, and the bodies that were walked."""

    def __init__(self) -> None:
        self.found: dict[Hashable, _Found] = {}
        self._visited: set[tuple[int, ...]] = set()

    def body(self, body: Any, given: Sequence[Any], within: Place) -> None:
        """Walk a body whose inputs are captured values, or None for anything else.

        `within` is the place of the equation that has the body.
        """
        jaxpr, constants = inner(body), constants_of(body)
        # Bodies are shared and nest. So each is walked once for the captured values that it is
        # given, not once for every path to it.
        visit = tuple(map(id, (jaxpr, *constants.values(), *given)))
        if visit in self._visited:
            return
        self._visited.add(visit)
        outputs = evaluate(body, given, _CapturedValues(self, within))
        for index, value in enumerate(outputs):
            self.read(value, (id(jaxpr), index), within)
        for value in constants.values():
            self.see(value)  # in dead code alone, or not read at all

    def read(self, value: Any, reader: tuple[int, int], place: Place) -> None:
        """Note that something at a place reads a value, if that is a captured array."""
        found = self.see(value)
        if found is not None:
            found.readers.add(reader)
            found.place = place if found.place is NOWHERE else found.place

    def see(self, value: Any) -> _Found | None:
        array = captured_value(value)
        return None if array is None else self.found.setdefault(array.identity, _Found(array))


@dataclass(frozen=True)
class _CapturedValues(Domain[Any]):
    """The domain of the walk: a value is a captured value, or None for a computed one."""

    walk: _Walk
    within: Place

    def constant(self, value: Any, aval: Any) -> Any:
        return value

    def unbound(self, var: Any) -> Any:
        return None

    def equation(self, equation: Any, operands: list[Any]) -> list[Any]:
        bodies = bodies_of(equation)
        place = place_of(equation, self.within) if bodies else NOWHERE
        handed_on: set[int] = set()
        for body in bodies:
            self.walk.body(body.jaxpr, body.inputs(operands, None), place)
            handed_on.update(
                id(equation.invars[number])
                for number in body.operands or ()
                if number is not None and operands[number] is not None
            )
        for atom, value in zip(equation.invars, operands, strict=True):
            if value is None or id(atom) in handed_on:
                continue
            if captured_value(value) is not None:
                self.walk.read(value, (id(equation), -1), place_of(equation, self.within))
        return [None] * len(equation.outvars)


def _function_of(closed: Any) -> Place:
    """Return the line of the function: the place of an array that is only returned."""
    function, _, source = closed.jaxpr.debug_info.func_src_info.partition(" at ")
    file, _, line = source.rpartition(":")
    return Place(relative(file), int(line), function) if line.isdecimal() else NOWHERE


def stock_const_args(jaxpr: Any, *, embed_threshold: int) -> tuple[Any, ...]:
    """Return the values that stock JAX passes as const args, in order; some are there twice.

    Within one jaxpr each Literal is a const arg of its own; the bodies of one equation need each
    array once. That is `core.jaxpr_const_args` of jax 0.10.2, which is private, and empty in a
    process that was not started with the flag. Arrays of more than `embed_threshold` bytes are
    hoisted.
    `jaxpr` has no dead code, as `live_part` leaves it.
    """

    def is_passed(atom: Any) -> bool:
        return (
            isinstance(atom, core.Literal)
            and np.ndim(atom.val) > 0
            and getattr(atom.val, "nbytes", 4) > embed_threshold
        )

    def passed_to(body: Any, inside: Callable[[Any], list[Any]]) -> list[Any]:
        found = {id(atom): atom.val for atom in body.outvars if is_passed(atom)}
        for equation in body.eqns:
            found |= {id(atom): atom.val for atom in equation.invars if is_passed(atom)}
            found |= {
                id(value): value for each in bodies_of(equation) for value in inside(each.jaxpr)
            }
        return list(found.values())

    found: list[Any] = folded(jaxpr, passed_to)
    return tuple(found)
