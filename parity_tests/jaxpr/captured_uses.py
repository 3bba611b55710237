"""Uses: which equations and outputs of a program read each array that it captured."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any

from jax.extend import core

from parity_tests.jaxpr.bodies import bodies_of, constants_of, inner
from parity_tests.jaxpr.counts import Captured, captured
from parity_tests.jaxpr.places import NOWHERE, Place, place_of, relative


@dataclass(frozen=True)
class CapturedUse:
    """A captured array, how many equations and outputs read it, and where the first of them is.

    An equation that hands the array on to its body is no use, one in the body is, so that a count
    is the same whether the array is a constvar or stands in Literals. A body that several equations
    share counts once, as it stands in the user's code once.
    """

    array: Captured
    uses: int
    place: Place


def captured_uses(closed: Any) -> tuple[CapturedUse, ...]:
    """Return the arrays that a closed_jaxpr captured, unique by identity, in the order of use.

    Scalars are left out, for no mode does anything with them but inline them.

        captured_uses(jax.make_jaxpr(f)(x))[0].place.line
    """
    walk = _Walk()
    walk.body(closed, {}, NOWHERE)
    where = _function_of(closed)
    return tuple(
        CapturedUse(each.array, len(each.readers), where if each.place is NOWHERE else each.place)
        for each in walk.found.values()
    )


@dataclass
class _Found:
    array: Captured
    place: Place = NOWHERE
    readers: set[tuple[int, int]] = field(default_factory=set)


class _Walk:
    def __init__(self) -> None:
        self.found: dict[Hashable, _Found] = {}
        self._visited: set[tuple[Any, ...]] = set()

    def body(self, body: Any, values: Mapping[Any, Any], within: Place) -> None:
        """Walk a body whose variables stand for captured values as `values` says.

        `within` is the place of the equation that has the body.
        """
        constants = constants_of(body)
        jaxpr, values = inner(body), {**constants, **values}
        # Bodies are shared and nest, so each is walked once for the captured values that it is
        # given, and not once for every path to it.
        visit = (id(jaxpr), *sorted((id(var), id(value)) for var, value in values.items()))
        if visit in self._visited:
            return
        self._visited.add(visit)
        for equation in jaxpr.eqns:
            self._equation(equation, values, within)
        for index, atom in enumerate(jaxpr.outvars):
            if (found := self._found(atom, values)) is not None:
                found.readers.add((id(jaxpr), index))
                found.place = within if found.place is NOWHERE else found.place
        for value in constants.values():
            self._see(value)  # in dead code alone, or not read at all

    def _equation(self, equation: Any, values: Mapping[Any, Any], within: Place) -> None:
        bodies = list(bodies_of(equation))
        place = place_of(equation, within) if bodies else NOWHERE
        handed_on: set[int] = set()
        for body, operands in bodies:
            given = {}
            for var, atom in zip(inner(body).invars, operands or (), strict=False):
                value = _value(atom, values)
                if value is not None:
                    given[var] = value
                    handed_on.add(id(atom))
            self.body(body, given, place)
        for atom in equation.invars:
            found = self._found(atom, values) if id(atom) not in handed_on else None
            if found is not None:
                found.readers.add((id(equation), -1))
                if found.place is NOWHERE:
                    found.place = place_of(equation, within)

    def _found(self, atom: Any, values: Mapping[Any, Any]) -> _Found | None:
        value = _value(atom, values)
        return None if value is None else self._see(value)

    def _see(self, value: Any) -> _Found | None:
        array = captured(value)
        return None if array is None else self.found.setdefault(array.identity, _Found(array))


def _value(atom: Any, values: Mapping[Any, Any]) -> Any:
    if atom is None:
        return None
    if isinstance(atom, core.Literal):
        return atom.val
    return values.get(atom)


def _function_of(closed: Any) -> Place:
    """The function itself is the place of an array that is only returned."""
    function, _, source = closed.jaxpr.debug_info.func_src_info.partition(" at ")
    file, _, line = source.rpartition(":")
    return Place(relative(file), int(line), function) if line.isdecimal() else NOWHERE
