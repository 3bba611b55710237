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
class Keyed:
    """The captured arrays that `key` names in a program: one, or all that no key tells apart.

    `place` is the file, line and function of the first use; None where only an output is the array.
    """

    key: str
    aval: str
    place: tuple[str, int, str] | None
    identities: frozenset[Hashable]
    bytes: int  # of all of them
    largest: int  # of one of them

    def captured_at(self) -> tuple[str, int, str] | None:
        """As that of the arrays, so that a table can be asked what it says of them."""
        return self.place


def keyed(constants: Iterable[CapturedConstant]) -> tuple[Keyed, ...]:
    """Give the arrays of a program their keys; in the order of the arrays.

    A key is the type alone where no other array has it, else type and place, of which only the end
    that is needed. Arrays of one type that are first used in one line share a key.

        keyed(constants)[0].key == "float32[64,64] model.py:31"
    """
    groups: dict[tuple[str, tuple[str, int] | None], list[CapturedConstant]] = defaultdict(list)
    for constant in constants:
        place = constant.captured_at()
        groups[constant.aval, place and place[:2]].append(constant)
    of_aval = Counter(aval for aval, _ in groups)
    return tuple(
        Keyed(
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
    arrays: Collection[Keyed], inlined: Collection[str]
) -> dict[str, Literal["inline", "hoist"]]:
    """The table that inlines the arrays of some keys, and leaves the others hoisted.

    The key of an array without a place is its type, and names the others of this type as well;
    likewise a relative path that is the end of others. What is named so is in the table, too.

        table(arrays, {"float32[64,64]"}) == {"float32[64,64]": "inline"}
    """
    entries: dict[str, Literal["inline", "hoist"]] = {
        each.key: "inline" for each in arrays if each.key in inlined
    }
    policy = read_table(entries, "the table")
    named_too = [a.key for a in arrays if a.key not in inlined and policy(a) is not None]
    return entries | dict.fromkeys(named_too, "hoist")


def _ending(place: tuple[str, int], places: Collection[tuple[str, int]]) -> str:
    """The shortest end of a path, in whole names, that is that of no other of the places."""
    file, line = place
    parts = PurePath(file).parts
    others = [PurePath(each).parts for each, at in places if at == line and each != file]
    shortest = next(
        (n for n in range(1, len(parts)) if all(other[-n:] != parts[-n:] for other in others)),
        len(parts),
    )
    return f"{PurePath(*parts[-shortest:])}:{line}"
