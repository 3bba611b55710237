"""The rows of effects, from the recordings of the calls of one program on one side."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any, TypeAlias

import numpy as np

from parity_tests.evidence import values
from parity_tests.observe.effects import Invocation, Recording, Target
from reports.rows import Check
from reports.rows.calls import Effect, Effects
from reports.rows.check_names import EFFECTS

LINES = 8  # of printed text that a row shows
WIDTH = 200
RUNS = 40  # of one function in an order, before the rest is a digest

Kind: TypeAlias = tuple[Target, tuple[str, ...]]
_Grouped: TypeAlias = dict[Kind, list[Invocation]]


def effects(
    first: Recording, compiled: Recording, later: Sequence[Counter[Target]] = ()
) -> Effects:
    """Return the effects of a program: of its first call, the compiled stage and later calls."""
    of_first, of_compiled = _grouped(first.invocations), _grouped(compiled.invocations)
    return Effects(
        found=tuple(
            _row(kind, of_first.get(kind, []), of_compiled.get(kind, []), later)
            for kind in {**of_first, **of_compiled}
        ),
        io_order=_order(first.invocations, ("io_callback",)),
        debug_order=_order(first.invocations, ("debug_callback", "debug_print")),
    )


def _grouped(invocations: Iterable[Invocation]) -> _Grouped:
    found: _Grouped = {}
    for each in invocations:
        found.setdefault((each.target, each.types()), []).append(each)
    return found


def _row(
    kind: Kind,
    first: list[Invocation],
    compiled: list[Invocation],
    later: Sequence[Counter[Target]],
) -> Effect:
    target, types = kind
    first, compiled = _in_order(target, first), _in_order(target, compiled)
    shown = first or compiled
    return Effect(
        kind=target.kind,
        function=target.function,
        place=target.place,
        ordered=target.ordered,
        types=types,
        static=_short(target.static),
        calls=len(first),
        calls_of_compiled=len(compiled),
        later=tuple(each[target] for each in later),
        sha256=_digest(first),
        sha256_of_compiled=_digest(compiled),
        arguments=tuple(_kept(first, number) for number in range(len(types))),
        text=tuple(each.show(each.arguments)[:WIDTH] for each in shown[:LINES] if each.show),
    )


def _short(text: str) -> str:
    if len(text) <= WIDTH:
        return text
    return f"{text[:WIDTH]}, sha256 {hashlib.sha256(text.encode()).hexdigest()[:16]}"


def _in_order(target: Target, invocations: list[Invocation]) -> list[Invocation]:
    """Sort the calls of an effect without an order, by value so that rounding hardly moves them."""
    return invocations if target.ordered else sorted(invocations, key=_by_value)


def _by_value(each: Invocation) -> tuple[Any, ...]:
    return (*map(_sortable, each.arguments), each.digest)


def _sortable(array: np.ndarray[Any, Any]) -> tuple[Any, ...]:
    head = array.reshape(-1)[:64].astype(complex)
    parts = np.stack([np.isnan(head), np.nan_to_num(head.real), np.nan_to_num(head.imag)], axis=-1)
    return tuple(parts.real.ravel().tolist())


def _digest(invocations: Iterable[Invocation]) -> str:
    return hashlib.sha256(" ".join(each.digest for each in invocations).encode()).hexdigest()


def _kept(invocations: list[Invocation], argument: int) -> Any:
    arrays = [each.arguments[argument] for each in invocations]
    if not arrays:
        return values.keep_in_report(np.zeros(0, np.uint8))
    most = max(1, values.MOST_BYTES // max(1, arrays[0].nbytes))
    return values.keep_in_report(np.stack(arrays[:most]))


def _order(invocations: Iterable[Invocation], kinds: tuple[str, ...]) -> str:
    """Write the ordered effects of some kinds as text, in the order of their calls."""
    targets = [each.target for each in invocations if each.target.kind in kinds]
    return _as_text([named(each.function, each.place) for each in targets if each.ordered])


def _as_text(names: list[str]) -> str:
    runs = [(name, len(list(same))) for name, same in groupby(names)]
    texts = [name if count == 1 else f"{name} {count} times" for name, count in runs]
    if len(texts) <= RUNS:
        return ", ".join(texts)
    rest = hashlib.sha256(", ".join(texts).encode()).hexdigest()[:16]
    return f"{', '.join(texts[:RUNS])} and more, sha256 {rest}"


def named(function: str, place: str) -> str:
    """Name a function with the line that it stands on."""
    return f"{function} ({place})" if place else function


def check(effects: Effects) -> tuple[Check, ...]:
    """Check that the compiled stage has the effects of the first call; none where there are none.

    A program with state of its own fails on every side alike.
    """
    if not effects.found:
        return ()
    apart = [
        f"{named(each.function, each.place)} is called {each.calls} and {each.calls_of_compiled} "
        f"times by the first call and by the compiled stage{_with_other_values(each)}"
        for each in effects.found
        if each.sha256 != each.sha256_of_compiled
    ]
    statement = "; ".join(apart) or "the first call and the compiled stage have the same effects"
    return (Check(name=EFFECTS, holds=not apart, statement=statement),)


def _with_other_values(effect: Effect) -> str:
    return ", with other values" if effect.calls == effect.calls_of_compiled else ""
