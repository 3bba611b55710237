"""Compare two sides of stock JAX by their calls of a program as it is written.

A call that fails on both sides, or before the flip alone, says nothing of the flip. Where the
first one does, the program was not compared.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from parity_tests.evidence import tolerance_ladder, values
from parity_tests.evidence.tolerance_ladder import REACH
from parity_tests.exception_texts import are_alike, first_line
from parity_tests.judge import effects
from parity_tests.judge.sides import Pair
from reports.rows import (
    CallAsWritten,
    ComparisonOutcome,
    Failure,
    LeafComparison,
    Observation,
    OutputLeaf,
    Side,
)
from reports.rows.calls import Effects, KeptArray
from reports.rows.check_names import AS_WRITTEN, DONATING, PLACED
from reports.views.texts import counted

_TYPES = ("shape", "dtype", "weak_type")
_PLACES = ("sharding", "committed")
LEAKED = (
    "it was not called: it keeps values between calls outside of what its factory makes, and "
    "constparity's trace has left a tracer there"
)
_STOCK = ("jax-legacy", "jax-simplified")
_OF_PROGRAMS = ("exception", "crash")  # other failures are limits of the campaign


class Found(NamedTuple):
    """What the calls of two sides come to in one metric, in words."""

    metric: str
    outcome: ComparisonOutcome
    detail: str = ""


def compare(pair: Pair, traced: Sequence[LeafComparison] = ()) -> list[Found]:
    """Compare the calls that both sides made; nothing where one of them made none.

    `traced` compares the outputs of the traced program: values that are no further apart there say
    nothing else here.

    Example::

        compare(Pair(of_jax_legacy, of_jax_simplified))[0].outcome == "equal"
    """
    both = list(zip(pair.left.as_written, pair.right.as_written, strict=False))
    if not both:
        return _one_alone(pair)
    apart = next((each.said for each in _apart(pair, traced)), "")
    placed = next(filter(None, (_placed(n, *each) for n, each in enumerate(both, 1))), "")
    placed_outcome: ComparisonOutcome = "expected difference" if pair.across_modes else "different"
    return [
        Found(AS_WRITTEN, "different", apart) if apart else _not_apart(pair, len(both)),
        Found(PLACED, placed_outcome, placed) if placed else Found(PLACED, "equal"),
    ]


def distance(pair: Pair) -> float:
    """Return how far apart the values of the calls are, at most; infinity for what is no number.

    Example::

        distance(Pair(of_first_run, of_second_run)) == 0.0
    """
    return max((each.distance for each in _apart(pair, ())), default=0.0)


def _one_alone(pair: Pair) -> list[Found]:
    """Say that one side alone was called; a side that failed, or is ours, is told elsewhere."""
    called = [each.side for each in (pair.left, pair.right) if each.as_written]
    sides = (pair.left.side, pair.right.side)
    if not called or sides != _STOCK or pair.left.failure or pair.right.failure:
        return []
    return [Found(AS_WRITTEN, "not compared", f"{called[0]} alone was called")]


def _not_apart(pair: Pair, calls: int) -> Found:
    """Say that no call differs, or why that is not known: a first call failed, or was not made."""
    first = [each.as_written[0].failure for each in (pair.left, pair.right)]
    if said := _fails_alike(*first):
        return Found(AS_WRITTEN, "not compared", f"call 1 fails in both forms: {said}")
    for each in (pair.left, pair.right):
        for number, call in enumerate(each.as_written[:calls], 1):
            if call.failure is not None and (said := _untold(each.side, number, call.failure)):
                return Found(AS_WRITTEN, "not compared", said)
    both = zip(pair.left.as_written, pair.right.as_written, strict=False)
    worked = sum(not (one.failure or two.failure) for one, two in both)
    return Found(AS_WRITTEN, "equal", f"{counted(worked, 'call')} alike")


def _fails_alike(left: Failure | None, right: Failure | None) -> str:
    """Say how both of two calls fail; "" where one works, or they fail otherwise."""
    if not left or not right or not (_is_of_program(left) and _is_of_program(right)):
        return ""
    said = in_words(left)
    return said if are_alike(said, in_words(right)) else ""


def _untold(side: Side, number: int, failure: Failure) -> str:
    """Say why nothing is known after a failure; "" where the program fails in a later call."""
    if failure.kind == "unavailable":
        return failure.message
    if is_kept_outside(failure):
        return LEAKED
    said = in_words(failure)
    if failure.kind not in _OF_PROGRAMS:
        return f"the calls on {side} were not made to the end: {said}"
    return f"call {number} fails on {side} today: {said}" if number == 1 else ""


def new_failure_in_words(left: Side, right: Side, number: int, failure: Failure) -> str:
    """Say that a call works on one side and fails on the other.

    Example::

        new_failure_in_words("jax-legacy", "jax-simplified", 1, failure)
        # "call 1 works on jax-legacy and fails on jax-simplified: ValueError: no"
    """
    call = "a call" if failure.kind == "crash" else f"call {number}"
    return f"{call} works on {left} and fails on {right}: {in_words(failure)}"


def in_words(failure: Failure) -> str:
    """Return the type of a failure and what it says.

    Example::

        in_words(failure) == "ValueError: no"
    """
    return f"{failure.type}: {first_line(failure.message)}"


def failure_after(left: Observation, right: Observation) -> tuple[int, Failure] | None:
    """Return the first call that fails on the right side alone, by its number from 1.

    A program that cannot be built there, or in its donating call, fails in its first call.

    Example::

        failure_after(of_jax_legacy, of_jax_simplified)[1].type == "ValueError"
    """
    before, calls = left.as_written, right.as_written
    if not calls and right.failure and right.failure.stage in ("import", "build", DONATING):
        calls = (CallAsWritten(failure=right.failure),)
    if right.failure and right.failure.stage == DONATING:
        before = (CallAsWritten(failure=left.failure),)
    for number, (one, two) in enumerate(zip(before, calls, strict=False), 1):
        failure = None if one.failure else two.failure
        if failure and _is_of_program(failure):
            return number, failure
    return None


def failure_before(left: Observation, right: Observation) -> int:
    """Return the first later call that fails on the left side, by its number from 1; 0 for none.

    Example::

        failure_before(of_jax_legacy, of_jax_simplified) == 2
    """
    both = zip(left.as_written, right.as_written, strict=False)
    for number, (one, _) in enumerate(both, 1):
        failure = one.failure
        if failure and _is_of_program(failure):
            return number if number > 1 else 0
    return 0


def is_kept_outside(failure: Failure) -> bool:
    """Say whether a call was not made, or fails, by what the tester's trace left outside."""
    return failure.kind == "unavailable" or failure.type.endswith("UnexpectedTracerError")


def _is_of_program(failure: Failure) -> bool:
    return failure.kind in _OF_PROGRAMS and not is_kept_outside(failure)


def works_on_both(left: Observation, right: Observation) -> bool:
    """Say whether all calls of both sides work."""
    made = (*left.as_written, *right.as_written)
    return bool(left.as_written and right.as_written) and not any(each.failure for each in made)


class _Apart(NamedTuple):
    """What differs in one call, in words, and how far apart its values are."""

    said: str
    distance: float = math.inf


def _apart(pair: Pair, traced: Sequence[LeafComparison]) -> Iterator[_Apart]:
    both = pair.left.as_written, pair.right.as_written
    kept = [*map(_kept_by_digests, both)]
    same_as = [*map(_same_as, both)]
    for number, (one, two) in enumerate(zip(*both, strict=False)):
        if one.failure or two.failure:
            if said := _failures(pair, number + 1, one.failure, two.failure):
                yield _Apart(said)
            continue
        if said := _types(one, two):
            found: _Apart | None = _Apart(said)
        else:
            arrays = _arrays(one, kept[0]), _arrays(two, kept[1])
            found = _values(one.outputs, *arrays, traced)
        if found is None and (said := _effects(one, two)):
            found = _Apart(said)
        if found is None and same_as[0][number] != same_as[1][number]:
            found = _Apart(_changes(pair, number, same_as), 0.0)
        if found is not None:
            yield found._replace(said=f"call {number + 1} {found.said}")


def _same_as(calls: Sequence[CallAsWritten]) -> list[int]:
    """Return for each call the first one that gave the same bits, and did the same."""
    did = [(each.tree, _digests(each), _effects_digest(each)) for each in calls]
    return [did.index(each) for each in did]


def _effects_digest(call: CallAsWritten) -> tuple[object, ...]:
    found = call.effects.found if call.effects else ()
    return tuple((each.function, each.calls, each.sha256) for each in found)


def _changes(pair: Pair, number: int, same_as: Sequence[Sequence[int]]) -> str:
    """Say which side alone gives other bits than a call before: a write is no rounding."""
    left, right = (of_side[number] for of_side in same_as)
    changes, other = (pair.right, pair.left) if right > left else (pair.left, pair.right)
    return (
        f"is another than call {min(left, right) + 1} on {changes.side} and the same on "
        f"{other.side}, bit by bit"
    )


def _effects(one: CallAsWritten, two: CallAsWritten) -> str:
    found = effects.findings(one.effects or Effects(), two.effects or Effects())
    apart = next((each.what for each in found if each.outcome == "different"), "")
    return f"has other effects: {apart}" if apart else ""


def _failures(pair: Pair, number: int, left: Failure | None, right: Failure | None) -> str:
    failures = [each for each in (left, right) if each]
    if not all(map(_is_of_program, failures)):
        return ""
    if pair.is_one_side:
        if left is None or right is None:
            return f"call {number} fails in one run"
        alike = left.type == right.type and are_alike(left.message, right.message)
        said = (f"{each.type}: {first_line(each.message)}" for each in failures)
        return "" if alike else f"call {number} fails in both runs: {' and '.join(said)}"
    if left or not right:
        return ""
    return new_failure_in_words(pair.left.side, pair.right.side, number, right)


def _types(one: CallAsWritten, two: CallAsWritten) -> str:
    if one.tree != two.tree:
        return f"gives another structure: {one.tree} against {two.tree}"
    for a, b in zip(one.outputs, two.outputs, strict=True):
        if (a.sharding is None) != (b.sharding is None):
            kinds = ("no jax.Array" if each.sharding is None else "a jax.Array" for each in (a, b))
            return f"gives {' against '.join(kinds)} at {a.path or 'the only output'}"
    return _property_apart(one, two, _TYPES)


def _placed(number: int, one: CallAsWritten, two: CallAsWritten) -> str:
    if one.failure or two.failure or one.tree != two.tree:
        return ""
    said = _property_apart(one, two, _PLACES)
    return f"call {number} {said}" if said else ""


def _property_apart(one: CallAsWritten, two: CallAsWritten, names: Sequence[str]) -> str:
    for a, b in zip(one.outputs, two.outputs, strict=True):
        for name in names:
            left, right = getattr(a, name), getattr(b, name)
            if left != right:
                what = name.replace("_", " ")
                return (
                    f"gives another {what} at {a.path or 'the only output'}: {left} against {right}"
                )
    return ""


def _values(
    outputs: Sequence[OutputLeaf], left: Sequence[KeptArray], right: Sequence[KeptArray],
    traced: Sequence[LeafComparison],
) -> _Apart | None:  # fmt: skip
    explained = max((leaf.max_abs for leaf in traced), default=0.0) * REACH
    apart: list[_Apart] = []
    for leaf, one, two in zip(outputs, left, right, strict=True):
        if one == two:
            continue
        path = leaf.path or "the only output"
        if leaf.dtype != one.dtype and one.dtype == "uint8":  # the text of a Python value
            apart.append(_Apart(f"gives another {leaf.dtype} at {path}"))
            continue
        found = tolerance_ladder.compare(path, values.kept_elements(one), values.kept_elements(two))
        if found.rung == "mismatch" and (found.is_lost or found.max_abs > explained):
            farthest = math.inf if found.is_lost else found.max_abs
            apart.append(_Apart(f"gives other values at {path}: {found.note}", farthest))
    return apart[0]._replace(distance=max(each.distance for each in apart)) if apart else None


_Digests = tuple[str, ...]


def _digests(call: CallAsWritten) -> _Digests:
    return tuple(leaf.sha256 for leaf in call.outputs)


def _kept_by_digests(calls: Sequence[CallAsWritten]) -> Mapping[_Digests, Sequence[KeptArray]]:
    return {_digests(each): each.kept for each in reversed(calls) if each.kept}


def _arrays(
    call: CallAsWritten, kept: Mapping[_Digests, Sequence[KeptArray]]
) -> Sequence[KeptArray]:
    return kept.get(_digests(call), ())
