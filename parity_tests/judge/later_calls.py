"""Compare two sides call by call: a program that changes may do so on both sides, and alike."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from parity_tests.evidence import tolerance_ladder, values
from parity_tests.judge.sides import Pair
from reports.rows import ComparisonOutcome, Observation
from reports.rows.calls import CallResults, OtherResult
from reports.rows.check_names import AGREE, LEAVES_NOTHING


@dataclass(frozen=True)
class Agreement:
    """What the calls of two sides come to, beside each other."""

    outcome: ComparisonOutcome
    detail: str = ""


def compare(check: str, pair: Pair) -> Agreement | None:
    """Compare what two sides came to in a check of calls; None for any other check.

    None, too, where the calls were not recorded.
    """
    if check == AGREE:
        return _results(pair)
    return _growth(pair) if check == LEAVES_NOTHING else None


def _growth(pair: Pair) -> Agreement | None:
    """Compare what calls leave. A side that made few calls says nothing of its memory."""
    left, right = pair.left.growth, pair.right.growth
    if left is None or right is None:
        return Agreement("not compared", "too few calls to tell")
    apart = left.grows_on_devices != right.grows_on_devices
    if left.resident is not None and right.resident is not None and not left.grows_on_devices:
        apart = apart or left.grows_on_host != right.grows_on_host
    if apart:
        return Agreement("different", f"{_left_by(pair.left)}; {_left_by(pair.right)}")
    return Agreement("equal")


def _left_by(observation: Observation) -> str:
    [said] = [each.statement for each in observation.checks if each.name == LEAVES_NOTHING]
    return f"{observation.side}: {said}"


def _results(pair: Pair) -> Agreement | None:
    """Compare the results of the calls that both sides made.

    A side may have made more calls than the other, and be the only one to come to the call that is
    another. That says nothing of the other side.
    """
    left, right = pair.left.calls, pair.right.calls
    if left is None or right is None:
        return None
    calls = min(len(left.pattern), len(right.pattern))
    for number, (one, two) in enumerate(zip(left.pattern, right.pattern, strict=False)):
        if one != two:
            said = [_said(each, number) for each in (pair.left, pair.right)]
            said.sort(key=lambda each: each.startswith("no such"))  # what happens comes first
            return Agreement("different", "; ".join(said))
    if not any(left.pattern) and not any(right.pattern):
        return Agreement("equal")
    if not any(left.pattern[:calls]):
        return Agreement("not compared", f"only one side made more than {calls} calls")
    if _first_results(pair.left) == _first_results(pair.right):
        apart = _values_apart(left, right, calls)
        if apart:
            return Agreement("different", apart)
    return Agreement("equal", "the results change from call to call, alike on both sides")


def _said(observation: Observation, number: int) -> str:
    results = observation.calls
    assert results is not None
    of = results.pattern[number]
    call = f"call {number + 1} of {observation.side}"
    what = "the call of the compiled stage" if number == 1 else "a later call"
    if not of:
        return f"no such call of {observation.side} does"
    return f"{what} differs from the first {results.others[of - 1].apart}, {call}"


def _first_results(observation: Observation) -> Sequence[str]:
    return [leaf.sha256 for leaf in observation.outputs]


def _values_apart(left: CallResults, right: CallResults, calls: int) -> str:
    """Say which call gives other values on two sides that change alike; "" where none does."""
    for number in range(calls):
        of = left.pattern[number]
        if of and (said := _apart(left.others[of - 1], right.others[of - 1])):
            return f"call {number + 1} gives other values: {said}"
    return ""


def _apart(left: OtherResult, right: OtherResult) -> str:
    if left.sha256 == right.sha256 or len(left.leaves) != len(right.leaves):
        return ""
    for one, two in zip(left.leaves, right.leaves, strict=True):
        if (one.dtype, one.shape) != (two.dtype, two.shape):
            return f"{one.dtype}{list(one.shape)} against {two.dtype}{list(two.shape)}"
        leaf = tolerance_ladder.compare("", values.kept_elements(one), values.kept_elements(two))
        if leaf.rung == "mismatch":
            return leaf.note
    return ""
