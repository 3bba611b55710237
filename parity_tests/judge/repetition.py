"""Whether a program repeats itself: a side that is run again is compared with itself.

Sides can only be told apart by what one side does alike in every run. So a difference between two
sides counts where each of them repeats itself, and says nothing where one does not.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from parity_tests.evidence.records import Evidence
from parity_tests.evidence.tolerance_ladder import REACH
from parity_tests.judge.comparison import PairComparison
from parity_tests.judge.findings import Findings
from parity_tests.judge.not_repeatable import FAILURE, Difference
from parity_tests.judge.sides import Sides, flipped, is_one_mode
from reports.rows import Comparison, Failure, Rung

# How far apart the values of each difference are; what is no number counts as 1.
Differences = Mapping[Difference, float]

# Failures that belong to the campaign and not to the program.
_LIMITS = ("timeout", "memory", "unavailable", "wrong side")
_MISMATCH: tuple[Rung, ...] = ("mismatch",)
_NOT_BITWISE: tuple[Rung, ...] = ("ulp", "tolerance", "arbiter", "mismatch")


def to_run_again(findings: Findings, pairs: Sequence[Sides]) -> Sides | None:
    """Return the pair of sides that differ and are run again, across the flip if it differs.

    None where no pair differs in anything that another run can bear out.

    Example::

        to_run_again(findings, [("jax-legacy", "jax-simplified")])
    """
    differing = [pair for pair in pairs if across(findings, pair)]
    across_flip = flipped(pairs)
    return across_flip if across_flip in differing else next(iter(differing), None)


def is_confirmed(findings: Findings, pairs: Sequence[Sides]) -> bool:
    """Say whether two pairs across the flip differ alike, and the sides of each mode are alike.

    Then each mode has run twice, in processes of two implementations, and was twice the same.

    Example::

        is_confirmed(findings, pairs_of(SIDES))
    """
    in_one_mode = [pair for pair in pairs if is_one_mode(pair)]
    flips = [across(findings, pair) for pair in pairs if pair not in in_one_mode]
    failures = {each.side: each.failure for each in findings.observed}
    if len(flips) < 2 or any(
        across(findings, pair) or not _alike(*(failures.get(side) for side in pair))
        for pair in in_one_mode
    ):
        return False
    return bool(flips[0]) and all(each == flips[0] for each in flips[1:])


def differs_in_one_mode_too(findings: Findings, pair: Sides, pairs: Sequence[Sides]) -> bool:
    """Say whether a pair differs across modes while sides of one mode differ, too."""
    if is_one_mode(pair):
        return False
    return any(across(findings, each) for each in pairs if is_one_mode(each))


def across(findings: Findings, pair: Sides) -> Differences:
    """Return what differs between two sides of a program, its own checks left out."""
    observed = {each.side: each for each in findings.observed}
    found: dict[Difference, float] = {}
    if pair[0] in observed and pair[1] in observed:
        left, right = (observed[side].failure for side in pair)
        found = {FAILURE: 1.0} if _one_breaks(left, right) else {}
    of_pair = [each for each in findings.comparisons if (each.left, each.right) == pair]
    return {**found, **_differences(of_pair, _MISMATCH, findings.checks)}


def within(first: Evidence, other: Evidence) -> Differences:
    """Return what differs between two runs of one side; nothing where a run met a limit."""
    failures = [each.observation.failure for each in (first, other)]
    if any(failure and failure.kind in _LIMITS for failure in failures):
        return {}
    found = {} if _alike(*failures) else {FAILURE: 1.0}
    checks = {check.name for each in (first, other) for check in each.observation.checks}
    comparisons = PairComparison(first, other).comparisons()
    return {**found, **_differences(comparisons, _NOT_BITWISE, checks)}


def between_two_sides(left: Evidence, right: Evidence) -> Differences:
    """Return what differs between two sides that ran again, without an arbiter."""
    comparisons = tuple(PairComparison(left, right).comparisons())
    observed = (left.observation, right.observation)
    return across(Findings(observed, comparisons), (observed[0].side, observed[1].side))


def _one_breaks(left: Failure | None, right: Failure | None) -> bool:
    failure = left or right
    return not (left and right) and failure is not None and failure.kind not in _LIMITS


def _alike(first: Failure | None, other: Failure | None) -> bool:
    return (first and (first.stage, first.type)) == (other and (other.stage, other.type))


def _differences(
    comparisons: Sequence[Comparison], rungs: Collection[Rung], checks: Collection[str]
) -> Differences:
    found: dict[Difference, float] = {}
    for each in comparisons:
        if each.metric in checks:
            continue  # it compares a side with itself already
        if each.leaves:
            found |= {
                (each.metric, leaf.path): leaf.max_abs for leaf in each.leaves if leaf.rung in rungs
            }
        elif each.outcome == "different":
            found[each.metric, ""] = 1.0
    return found


def explained(between_sides: Differences, between_runs: Differences) -> frozenset[Difference]:
    """Return which differences between sides are as large between runs of one side."""
    if FAILURE in between_runs:
        return frozenset(between_sides)
    return frozenset(
        key
        for key, size in between_sides.items()
        if key in between_runs and between_runs[key] * REACH >= size
    )


def largest(all_found: Iterable[Differences]) -> Differences:
    """Put differences together, each with its largest distance.

    Example::

        largest([{("outputs", ""): 1.0}, {("outputs", ""): 2.0}]) == {("outputs", ""): 2.0}
    """
    found: dict[Difference, float] = {}
    for each in all_found:
        for key, size in each.items():
            found[key] = max(size, found.get(key, 0.0))
    return found
