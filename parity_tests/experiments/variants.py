"""Variants of one program: some of its captured arrays are hoisted and the others inlined."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any, Literal

import jax

import engine
from engine.configuration.parsing import Precompute
from engine.configuration.policy_table import read_table
from engine.ir.captured_constants import CapturedConstant
from parity_tests.jaxpr.captured import identity
from parity_tests.jaxpr.captured_uses import CapturedUse, captured_uses
from parity_tests.jaxpr.rewriting import live_part
from parity_tests.observe.jit_on_side import expanded, without_leaks
from parity_tests.program import Program


class Variants:
    """A program and its captured arrays above the embed threshold, to compile in variants.

    `arrays` has the arrays with the lines that use them; arrays that dead code alone reads are left
    out. Raises whatever the program raises when it is built and traced.
    """

    def __init__(self, program: Program) -> None:
        self._fun, self.args, self.kwargs = program.build()
        jitted = engine.jit(self._fun, constants="simplified")
        traced = without_leaks(jitted.trace(*self.args, **self.kwargs))
        embed_threshold = engine.config.embedded_constants_max_bytes
        self.arrays: tuple[CapturedUse, ...] = tuple(
            use
            for use in captured_uses(live_part(expanded(traced)))
            if use.array.bytes > embed_threshold and use.array.shape
        )

    def lower(self, hoisted: Collection[Hashable]) -> Any:
        """Lower the program with the arrays of these identities hoisted and the others inlined.

        Arrays at or below the embed threshold stay embedded. Each call lowers anew and has a policy
        of its own, which is a key of every cache; so the result is really compiled.
        """
        known = {use.array.identity for use in self.arrays}

        def policy(constant: engine.CapturedConstant) -> str | None:
            key = identity(constant.value)
            if key not in known:
                return None
            return "hoist" if key in hoisted else "inline"

        return self._lower(policy)

    def constants(self, *, inlined: bool = False) -> tuple[engine.CapturedConstant, ...]:
        """Return the `arrays` that a policy is asked about, as it sees them, largest first.

        The program is lowered for that with all of them hoisted, or `inlined`.
        """
        known = {use.array.identity for use in self.arrays}
        asked: list[engine.CapturedConstant] = []

        def policy(constant: engine.CapturedConstant) -> str | None:
            asked.append(constant)
            return "inline" if inlined else None

        self._lower(policy)
        return tuple(constant for constant in asked if identity(constant.value) in known)

    def lower_under(self, embed_threshold: int) -> Any:
        """Lower the program under an embed threshold in bytes; anew at each call, as `lower`."""
        return self._hoisted(embed_threshold, "off")

    def lower_with_preamble(self, embed_threshold: int | None = None) -> Any:
        """Lower the program with all arrays hoisted and a preamble, which has run then.

        Without an embed threshold, the one in force stays. The first time alone takes as long as
        the preamble takes to compile and to run: later programs share its results.
        """
        lowered = self._hoisted(embed_threshold, "auto")
        jax.block_until_ready(lowered.const_args)
        return lowered

    def _hoisted(self, embed_threshold: int | None, precompute: Precompute) -> Any:
        if embed_threshold is None:
            return self._lower(lambda constant: None, precompute)
        with engine.embedded_constants_max_bytes(embed_threshold):
            return self._lower(lambda constant: None, precompute)

    @jax.disable_jit(False)  # as a measurement
    def call(self, compiled: Any) -> Any:
        """Call a compiled variant with the program's arguments, and wait for the results."""
        return jax.block_until_ready(compiled(*self.args, **self.kwargs))

    def _lower(
        self,
        policy: Callable[[engine.CapturedConstant], str | None],
        precompute_constants: Precompute = "off",
    ) -> Any:
        jitted = engine.jit(
            self._fun,
            constants="simplified",
            constant_policy=policy,
            precompute_constants=precompute_constants,
        )
        return jitted.lower(*self.args, **self.kwargs)


# -- keys of a policy table for the arrays of a program, as short as tells them apart --------------


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
