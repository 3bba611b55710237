"""Compare the effects of two sides: which functions were called, how often, with which values.

Ordered effects are compared in the order of their calls, others as a multiset. Values stand on the
ladder of outputs, so a callback that is given a rounded value is no lost effect. JAX may call a
pure function as often as it likes, or not at all: its number of calls is a price, and only values
that one side alone gives it are a difference.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any, Literal, TypeAlias

import numpy as np

from parity_tests.evidence import tolerance_ladder, values
from parity_tests.evidence.distances import is_floating
from reports.rows import ComparisonOutcome
from reports.rows.calls import Effect, Effects
from reports.views.texts import counted

CALLS = "effects"
VALUES = "values of effects"
PURE = "calls of pure functions"
METRICS = (CALLS, VALUES, PURE)

MOST_MATCHED = 64  # calls without an order whose values are matched in other orders, too

Distance = Literal["equal", "rounding", "different"]
_Key: TypeAlias = tuple[object, ...]


@dataclass(frozen=True)
class Finding:
    """One thing in which the effects of two sides differ; `outcome` is what it counts as."""

    metric: str
    outcome: ComparisonOutcome
    what: str
    place: str = ""


def findings(left: Effects, right: Effects) -> list[Finding]:
    """Return everything in which the effects of two sides differ.

    Example::

        [each.what for each in findings(of_legacy.effects, of_simplified.effects)]
    """
    of_left, of_right = _by_key(left), _by_key(right)
    found = [
        each
        for key in {**of_left, **of_right}
        for each in _of_function(of_left.get(key), of_right.get(key))
    ]
    if not any(each.metric == CALLS for each in found):
        found += _of_order(left, right)
    return found


def in_words(effects: Effects) -> str:
    """Say how many calls of how many functions there are."""
    calls = counted(sum(each.calls for each in effects.found), "call")
    return f"{calls} of {counted(len(effects.found), 'function')}"


def _by_key(effects: Effects) -> dict[_Key, Effect]:
    found: dict[_Key, Effect] = {}
    for each in effects.found:
        prints = each.kind == "debug_print"
        place = "" if prints else each.place  # equal prints share one lowering, and so one line
        key = (each.kind, each.function, place, each.ordered, each.types, each.static)
        found[key] = each
    return found


def _of_function(left: Effect | None, right: Effect | None) -> Iterator[Finding]:
    either = left or right
    assert either is not None
    name, counts = _named(either), (left.calls if left else 0, right.calls if right else 0)
    if either.kind == "pure_callback":
        if counts[0] != counts[1]:
            what = f"{name} is pure and is called {_times(*counts)} by one call of the program"
            yield Finding(PURE, "expected difference", what, either.place)
    elif counts[0] != counts[1]:
        what = f"{name} is called {_times(*counts)} by one call of the program"
        given = ", ".join(filter(None, (*either.types, either.static)))
        yield Finding(CALLS, "different", f"{what} with {given or 'no argument'}", either.place)
        return
    elif left and right and (turn := _other_turn(left.later, right.later)) is not None:
        what = f"{name} is called {_times(left.later[turn], right.later[turn])}"
        said = f"{what} by call {turn + 1} of those that are timed"
        yield Finding(CALLS, "different", said, either.place)
    if left and right and left.calls and right.calls:
        yield from _of_values(left, right)


def _of_values(left: Effect, right: Effect) -> Iterator[Finding]:
    distance, said = _distance(left, right)
    if distance == "equal":
        return
    what = f"{_named(left)} is given other values: {said}"
    if distance == "rounding":
        yield Finding(VALUES, "expected difference", f"{what}; that is rounding", left.place)
    else:
        yield Finding(VALUES, "different", what + _texts(left, right), left.place)


def _of_order(left: Effects, right: Effects) -> Iterator[Finding]:
    for one, two in ((left.io_order, right.io_order), (left.debug_order, right.debug_order)):
        if one != two:
            yield Finding(CALLS, "different", f"ordered effects are {one} against {two}")


def _named(effect: Effect) -> str:
    name = f'print "{effect.function}"' if effect.kind == "debug_print" else effect.function
    return f"{name} ({effect.place})" if effect.place else name


def _times(left: int, right: int) -> str:
    return f"{counted(left, 'time')} against {counted(right, 'time')}"


def _other_turn(left: Sequence[int], right: Sequence[int]) -> int | None:
    """Return the first timed call with other effects; a side may have made more calls."""
    both = zip(left, right, strict=False)
    return next((turn for turn, (one, two) in enumerate(both) if one != two), None)


def _texts(left: Effect, right: Effect) -> str:
    for one, two in zip_longest(left.text, right.text, fillvalue=""):
        if one != two:
            return f'; "{one}" against "{two}"'
    return ""


# -- values ----------------------------------------------------------------------------------------


def _distance(left: Effect, right: Effect) -> tuple[Distance, str]:
    if left.sha256 == right.sha256:
        return "equal", ""
    of_left, of_right = (
        [values.kept_elements(each) for each in effect.arguments] for effect in (left, right)
    )
    if left.kind == "pure_callback":
        return _distance_of_sets(_calls(left, of_left), _calls(right, of_right))
    said = _mismatch(of_left, of_right)
    if said:
        if not left.ordered and _match(_calls(left, of_left), _calls(right, of_right)):
            return "rounding", said
        return "different", said
    if all(one.tobytes() == two.tobytes() for one, two in zip(of_left, of_right, strict=True)):
        # The values that differ are none of those that are kept.
        floats = any(is_floating(each.dtype) for each in of_left)
        return ("rounding" if floats else "different"), "beyond the values that are kept"
    return "rounding", _rounding(of_left, of_right)


def _mismatch(left: list[Any], right: list[Any]) -> str:
    """Say which argument is beyond the tolerance of its dtype; "" where none is."""
    for number, (one, two) in enumerate(zip(left, right, strict=True)):
        leaf = tolerance_ladder.compare("", one, two)
        if leaf.rung == "mismatch":
            return f"argument {number}: {leaf.note}"
    return ""


def _rounding(left: list[Any], right: list[Any]) -> str:
    leaves = [
        tolerance_ladder.compare(f"argument {number}", *both)
        for number, both in enumerate(zip(left, right, strict=True))
    ]
    worst = max(leaves, key=lambda leaf: leaf.max_rel)
    return f"{worst.path}: max rel {worst.max_rel:.2g}, max abs {worst.max_abs:.2g}"


_Call: TypeAlias = tuple[np.ndarray[Any, Any], ...]


def _calls(effect: Effect, arguments: list[Any]) -> list[_Call]:
    """Return the arguments of each call; none where only parts of the arguments are kept."""
    if not arguments or any(each.step > 1 for each in effect.arguments):
        return []
    return list(zip(*arguments, strict=False))[:MOST_MATCHED]


def _distance_of_sets(left: list[_Call], right: list[_Call]) -> tuple[Distance, str]:
    """Compare the values that a pure function is given; more calls on one side are no matter."""
    fewer, more = sorted((left, right), key=len)
    apart = [call for call in fewer if not any(_alike(call, each) for each in more)]
    if apart:
        shown = ", ".join(str(each.reshape(-1)[:3]) for each in apart[0])
        return "different", f"only one side gives it {shown}"
    same = {tuple(each.tobytes() for each in call) for call in more}
    if all(tuple(each.tobytes() for each in call) in same for call in fewer):
        return "equal", ""
    return "rounding", "within the tolerance of their dtypes"


def _match(left: list[_Call], right: list[_Call]) -> bool:
    """Say whether each call has a partner of about the same values on the other side."""
    waiting = list(right)
    for call in left:
        partner = next((n for n, each in enumerate(waiting) if _alike(call, each)), None)
        if partner is None:
            return False
        del waiting[partner]
    return bool(left) and not waiting


def _alike(left: _Call, right: _Call) -> bool:
    return not _mismatch([np.asarray(x) for x in left], [np.asarray(x) for x in right])
