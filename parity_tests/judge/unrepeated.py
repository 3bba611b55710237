"""What differs between runs of one side and between two sides, and what changed, in words.

Sides can only be told apart by what one side does alike in every run. So a difference between two
sides counts where each of them repeats itself, and says nothing where one does not. What changed is
an argument, a captured array, the trace, or outputs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from parity_tests.advice import advice
from parity_tests.evidence.records import Evidence
from parity_tests.evidence.tolerance_ladder import REACH
from parity_tests.judge import calls_as_written
from parity_tests.judge.comparison import PairComparison, content_of
from parity_tests.judge.findings import FAILURE, Difference, Findings
from parity_tests.judge.proofs import part
from parity_tests.judge.sides import Pair, Sides
from reports.rows import ArgumentLeaf, CapturedArray, Comparison, Failure, Observation, Rung
from reports.rows.check_names import AS_WRITTEN
from reports.views.ledger import listed, place
from reports.views.texts import counted, cut, type_of

# How far apart the values of each difference are; what is no number counts as 1, and as infinity
# in calls as written.
Differences = Mapping[Difference, float]

# Failures that belong to the campaign and not to the program.
_LIMITS = ("timeout", "memory", "unavailable", "not here", "wrong side", "written to")
_MISMATCH: tuple[Rung, ...] = ("mismatch",)
_CALLS: Difference = (AS_WRITTEN, "")
_NOT_BITWISE: tuple[Rung, ...] = ("ulp", "tolerance", "arbiter", "mismatch")

Kind = Literal["argument", "captured", "trace", "outputs", "failure"]

_BY_CHANCE = ": time, random numbers, threads or state"
_LINE_LENGTH = 80
_MOST = 4


@dataclass(frozen=True)
class Change:
    """One thing that is another in a second run, in words, and the line that it is about.

    The line of a change in the trace is not known here: printed jaxprs have no lines.
    """

    kind: Kind
    what: str
    where: str = ""


def changes(first: Evidence, other: Evidence, source: str) -> tuple[Change, ...]:
    """Return what changed between two runs; outputs only where nothing before them did.

    `source` is the line of the program.

    Example::

        changes(of_first, of_second, "model.py:9")[0].what
        # "captured array float32[3] holds other values"
    """
    before, after = first.observation, other.observation
    if before.failure or after.failure:
        return (Change("failure", _failed(before, after), source),)
    found = [
        *arguments_changed(before.arguments, after.arguments, source),
        *captured_changed(before, after),
    ]
    if _types(before) == _types(after):  # else another program is traced because of them
        found += _trace(first.jaxpr, other.jaxpr)
    return tuple(found or _outputs(first, other, source))


def listed_changes(found: Sequence[Change]) -> str:
    """Return what changed in one text.

    Example::

        listed_changes([Change("argument", "argument x float32[3] has other values")])
    """
    texts = list(dict.fromkeys(each.what for each in found))
    more = f", and {len(texts) - _MOST} more" if len(texts) > _MOST else ""
    return ", ".join(texts[:_MOST]) + more


def listed_outputs(found: Sequence[Change]) -> str:
    """Return which outputs changed, without what may have changed them; "" where more did.

    Example::

        listed_outputs(changes(of_first, of_second, "model.py:9"))
        # "the only output is another, though no argument, captured array or equation is"
    """
    if {each.kind for each in found} != {"outputs"}:
        return ""
    return ", ".join(each.what.removesuffix(_BY_CHANCE) for each in found)


def places_of(found: Sequence[Change]) -> str:
    """Return the lines that changes are about, each once."""
    return listed([each.where for each in found if each.where])


def action_for(found: Sequence[Change]) -> str:
    """Return how to keep the first change from happening."""
    return next((advice(f"seed {each.kind}") for each in found), "")


def first_line_apart(left: str, right: str) -> int | None:
    """Return the number of the first line that differs between two texts; None where none does.

    Example::

        >>> first_line_apart("a b", "a c"), first_line_apart("a", "a")
        (0, None)
    """
    both = left.splitlines(), right.splitlines()
    for number, (a, b) in enumerate(zip(*both, strict=False)):
        if a != b:
            return number
    return None if len(both[0]) == len(both[1]) else min(map(len, both))


def _failed(before: Observation, after: Observation) -> str:
    said = [
        f"{each.failure.type} in {each.failure.stage}" if each.failure else "a result"
        for each in (before, after)
    ]
    return f"one run gave {said[0]} and another {said[1]}"


def arguments_changed(
    before: Sequence[ArgumentLeaf], after: Sequence[ArgumentLeaf], source: str
) -> list[Change]:
    """Name the example arguments that are others in a second run."""
    then, now = ({each.path: each for each in leaves} for leaves in (before, after))
    found = []
    for path in {**then, **now}:
        one, two = then.get(path), now.get(path)
        if one is None or two is None:
            found.append(Change("argument", f"argument {path} is there in one run alone", source))
        elif (one.shape, one.dtype) != (two.shape, two.dtype):
            types = f"{type_of(one)} against {type_of(two)}"
            found.append(Change("argument", f"argument {path} has another type: {types}", source))
        elif one.sha256 != two.sha256:
            what = f"argument {path} {type_of(one)} has other values"
            found.append(Change("argument", what, source))
    return found


def called_otherwise(before: Observation | None, after: Observation | None) -> str:
    """Say with which other arguments two sides were called; "" where they were called alike."""
    if before is None or after is None or before.failure or after.failure:
        return ""
    found = arguments_changed(before.arguments, after.arguments, "")
    return f"the sides were called with other arguments: {listed_changes(found)}" if found else ""


def captured_changed(before: Observation, after: Observation) -> list[Change]:
    """Name the captured arrays whose digests one of the runs alone has."""
    runs = [Counter(map(content_of, each.ledger)) for each in (before, after)]
    alone = runs[0] - runs[1]
    changed = []
    for array in before.ledger:
        if alone[content_of(array)] > 0:
            alone[content_of(array)] -= 1
            changed.append(array)
    if len(before.ledger) != len(after.ledger):
        numbers = f"{len(before.ledger)} against {len(after.ledger)}"
        where = places_of([_of_array(each) for each in changed])
        return [Change("captured", f"other arrays are captured: {numbers}", where)]
    if not changed and _values(before) != _values(after):
        # The digest over all arrays tells of those that are too large for digests of their own.
        changed = [each for each in before.ledger if not each.sha256]
    return [_of_array(each) for each in changed]


def _of_array(array: CapturedArray) -> Change:
    return Change(
        "captured",
        f"captured array {type_of(array)} holds other values",
        place(array.file, array.line) if array.file else "",
    )


def _types(of: Observation) -> object:
    arguments = [(each.path, each.shape, each.dtype) for each in of.arguments]
    return arguments, [(each.shape, each.dtype) for each in of.ledger]


def _values(of: Observation) -> str | None:
    return of.jaxpr.captured_values if of.jaxpr else None


def _trace(before: str, after: str) -> list[Change]:
    number = first_line_apart(before, after)
    if number is None or not before or not after:
        return []
    one, two = (
        cut((text.splitlines()[number : number + 1] or ["nothing"])[0].strip(), _LINE_LENGTH)
        for text in (before, after)
    )
    return [Change("trace", f"the traced program is another: {one} against {two}")]


def _outputs(first: Evidence, other: Evidence, source: str) -> list[Change]:
    """Name outputs that changed though nothing that was captured, passed in or traced did."""
    apart = [metric for metric, _ in within(first, other) if metric != "outputs"]
    [outputs] = [
        each for each in PairComparison(first, other).comparisons() if each.metric == "outputs"
    ]
    paths = [
        f"output {leaf.path}" if leaf.path else "the only output"
        for leaf in outputs.leaves
        if leaf.rung != "bitwise"
    ]
    what = listed(paths or apart)
    stablehlo = first.observation.stablehlo
    calls = stablehlo.callbacks if stablehlo else None
    of = f" (it makes {counted(calls, 'call')} into Python)" if calls else ""
    return [
        Change(
            "outputs",
            f"{what} is another, though no argument, captured array or equation is{of}{_BY_CHANCE}",
            source,
        )
    ]


# -- differences between sides and between runs --------------------------------------------------


def across(findings: Findings, pair: Sides) -> Differences:
    """Return what differs between two sides of a program, its own checks left out.

    Outputs within rounding differ where the two traced programs part: what chance has written into
    one of them may be near to what it has written into the other.
    """
    left, right = map(findings.on, pair)
    rungs = _MISMATCH
    found: dict[Difference, float] = {}
    if left and right:
        found = {FAILURE: 1.0} if _one_breaks(left.failure, right.failure) else {}
        if part(left, right):
            rungs = _NOT_BITWISE
    of_pair = [each for each in findings.comparisons if (each.left, each.right) == pair]
    found |= _differences(of_pair, rungs, findings.checks)
    if left and right and _CALLS in found:
        found[_CALLS] = calls_as_written.distance(Pair(left, right))
    return found


def within(first: Evidence, other: Evidence) -> Differences:
    """Return what differs between two runs of one side; nothing where a run met a limit."""
    failures = [each.observation.failure for each in (first, other)]
    if any(failure and failure.kind in _LIMITS for failure in failures):
        return {}
    found = {} if fails_alike(*failures) else {FAILURE: 1.0}
    checks = {check.name for each in (first, other) for check in each.observation.checks}
    found |= _differences(PairComparison(first, other).comparisons(), _NOT_BITWISE, checks)
    # Chance may take the outputs of the traced program further apart than the calls.
    runs = Pair(first.observation, other.observation)
    calls = calls_as_written.compare(runs)
    if any(each.metric == AS_WRITTEN and each.outcome == "different" for each in calls):
        found[_CALLS] = calls_as_written.distance(runs)
    return found


def between_two_sides(left: Evidence, right: Evidence) -> Differences:
    """Return what differs between two sides that ran again, without an arbiter."""
    comparisons = tuple(PairComparison(left, right).comparisons())
    observed = (left.observation, right.observation)
    return across(Findings(observed, comparisons), (observed[0].side, observed[1].side))


def _one_breaks(left: Failure | None, right: Failure | None) -> bool:
    failure = left or right
    return not (left and right) and failure is not None and failure.kind not in _LIMITS


def fails_alike(first: Failure | None, other: Failure | None) -> bool:
    """Say whether two runs fail in one stage with one exception, or both do not fail."""
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
