"""Keys of a policy table for the captured arrays of one program, as short as tells them apart."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Hashable, Iterable
from dataclasses import dataclass
from pathlib import PurePath
from typing import Literal

from engine.configuration.policy_table import read_table
from engine.ir.captured_constants import CapturedConstant
from parity_tests.jaxpr.captured import identity


@dataclass(frozen=True)
class KeyedArrays:
    """The captured arrays that `key` names in a program: one, or all that no key tells apart.

    `place` is the file, line and function of the first use; None for an array that is only an
    output. `bytes` is the size of all the arrays, `largest` of the largest.
    """

    key: str
    aval: str
    place: tuple[str, int, str] | None
    identities: frozenset[Hashable]
    bytes: int
    largest: int

    def captured_at(self) -> tuple[str, int, str] | None:
        """Return the place, as a captured constant does, so that a policy table can be asked."""
        return self.place


def with_keys(constants: Iterable[CapturedConstant]) -> tuple[KeyedArrays, ...]:
    """Give the arrays of a program their keys, in the order of the arrays.

    A key is the type alone if no other array has that type. Otherwise it is the type and the end of
    the place, as short as tells it apart. Arrays of one type that are first used in one line share
    a key.

    Example::

        with_keys(constants)[0].key == "float32[64,64] model.py:31"
    """
    groups: dict[tuple[str, tuple[str, int] | None], list[CapturedConstant]] = defaultdict(list)
    for constant in constants:
        place = constant.captured_at()
        groups[constant.aval, place and place[:2]].append(constant)
    of_aval = Counter(aval for aval, _ in groups)
    return tuple(
        KeyedArrays(
            key=aval
            if place is None or of_aval[aval] == 1
            else f"{aval} {_ending(place, [p for a, p in groups if a == aval and p])}",
            aval=aval,
            place=members[0].captured_at(),
            identities=frozenset(identity(each.value) for each in members),
            bytes=sum(each.nbytes for each in members),
            largest=max(each.nbytes for each in members),
        )
        for (aval, place), members in groups.items()
    )


def table(
    arrays: Collection[KeyedArrays], inlined: Collection[str]
) -> dict[str, Literal["inline", "hoist"]]:
    """Return the table that inlines the arrays of some keys, and leaves the others hoisted.

    The key of an array without a place is its type, and so names all arrays of this type. Likewise
    a relative path may be the end of another one. Arrays that are named by accident are in the
    table too, as hoisted.

    Example::

        table(arrays, {"float32[64,64]"}) == {"float32[64,64]": "inline"}
    """
    entries: dict[str, Literal["inline", "hoist"]] = {
        each.key: "inline" for each in arrays if each.key in inlined
    }
    policy = read_table(entries, "the table")
    named_too = [a.key for a in arrays if a.key not in inlined and policy(a) is not None]
    return entries | dict.fromkeys(named_too, "hoist")


def _ending(place: tuple[str, int], places: Collection[tuple[str, int]]) -> str:
    """Return the shortest end of a path, in whole names, that no other place ends with."""
    file, line = place
    parts = PurePath(file).parts
    others = [PurePath(each).parts for each, at in places if at == line and each != file]
    shortest = next(
        (n for n in range(1, len(parts)) if all(other[-n:] != parts[-n:] for other in others)),
        len(parts),
    )
    return f"{PurePath(*parts[-shortest:])}:{line}"
