"""Judge what one side made of a program on two versions of JAX, with the flag left alone.

Outputs, their types and placement, effects and failures are judged, by the rules for one side that
is measured twice. Counters are shown beside them: a release of JAX or XLA may lower and compile a
program otherwise, and nobody has to act on that.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from parity_tests.evidence.records import Evidence
from parity_tests.evidence.tolerance_ladder import worst_rung
from parity_tests.evidence.values import Value
from parity_tests.exception_texts import first_line
from parity_tests.judge import effects
from parity_tests.judge.comparison import PRINTED, STRUCTURE, PairComparison
from parity_tests.judge.unrepeated import arguments_changed, captured_changed
from reports.rows import Comparison, Failure, Observation, ProgramRow, Side, metrics
from reports.rows.check_names import AGREE
from reports.rows.grid_row import VersionChange, VersionOutcome

_OF_OUTPUTS = ("outputs", STRUCTURE, *(each.name for each in metrics.LEAF_PROPERTIES), AGREE)
_JUDGED = (*_OF_OUTPUTS, *effects.METRICS)
_OTHER_VERSION = (
    "another version of JAX, or platform, may trace, lower and compile a program otherwise"
)
_COUNTERS = tuple(each.name for each in metrics.METRICS if each.unit != "seconds")


@dataclass(frozen=True)
class OnVersion:
    """What the sides left of a program on one version; `not_repeatable` says what varies there.

    `digest` is that of the file of its source, "" where it is not known.
    """

    label: str
    evidence: Mapping[Side, Evidence]
    truth: tuple[Value, ...] = ()
    not_repeatable: str = ""
    digest: str = ""


def counts_not_judged(comparisons: Sequence[Comparison]) -> tuple[Comparison, ...]:
    """Return comparisons of a side on two versions or platforms; counts and jaxprs are not judged.

    Example::

        counts_not_judged(compare_pairs([(of_0_10_2, of_0_12)]))
    """
    return tuple(
        each.model_copy(update={"outcome": "not judged", "detail": _OTHER_VERSION})
        if each.metric in (*_COUNTERS, PRINTED) and each.outcome == "different"
        else each
        for each in comparisons
    )


def why_not_repeatable(row: ProgramRow) -> str:
    """Say how a program does not repeat itself within one campaign; "" where it does."""
    if row.flip is not None and row.flip.outcome == "not repeatable":
        return "; ".join(each.what for each in row.flip.reasons if each.outcome == row.flip.outcome)
    return "; ".join(row.reasons) if row.verdict == "not repeatable" else ""


def why_not_comparable(
    pairs: Sequence[tuple[Evidence, Evidence]], rows: Sequence[ProgramRow]
) -> str:
    """Say why runs of a program that differ say nothing of each other; "" where they do.

    `rows` are those of the program in both campaigns. A flip may change what a program is called
    with, so arguments count between runs of one side alone.
    """
    seen = ((one.observation, two.observation) for one, two in pairs)
    for one, two in seen:
        otherwise = arguments_changed(one.arguments, two.arguments, "")
        if one.side == two.side and otherwise:
            return f"it was called otherwise: {'; '.join(each.what for each in otherwise)}"
    varying = next(filter(None, map(why_not_repeatable, rows)), "")
    return f"it does not repeat itself: {varying}" if varying else ""


def changes(program: str, versions: Sequence[OnVersion]) -> Iterator[VersionChange]:
    """Yield what changed for each side of a program, on each version but the first that ran it.

    A version is compared with the last one before it on which the side has run the program. Where a
    failure is gone, it is compared with the last one on which the side worked as well, so that no
    change hides behind the failure.

    Example::

        [each.outcome for each in changes("step", [on_0_10_2, on_0_11_2])] == ["equal", "equal"]
    """
    for side in dict.fromkeys(side for each in versions for side in each.evidence):
        last: OnVersion | None = None
        last_working: OnVersion | None = None
        for version in versions:
            if side not in version.evidence:
                continue
            works = version.evidence[side].observation.failure is None
            if last is not None:
                yield compare(program, side, last, version)
            if works and last_working is not None and last_working is not last:
                yield compare(program, side, last_working, version)
            last, last_working = version, version if works else last_working


def compare(program: str, side: Side, before: OnVersion, after: OnVersion) -> VersionChange:
    """Judge one side of a program on two versions."""
    left, right = before.evidence[side], after.evidence[side]
    change = VersionChange(
        program=program,
        side=side,
        before=before.label,
        after=after.label,
        **_judged(left, right, before.truth or after.truth),
    )
    if before.digest != after.digest:
        # It may be another program, and then no stage of JAX is to blame.
        unknown = {"by_numbers": "", "cause_of_times": ""}
        another = () if change.outcome == "equal" else ("the file of its source is another",)
        change = change.model_copy(update={**unknown, "causes": (*another, *change.causes)})
    varying = before.not_repeatable or after.not_repeatable
    if change.is_news and varying:
        what = f"it does not repeat itself: {varying}"
        return change.model_copy(update={"outcome": "not compared", "detail": what})
    return change


def _judged(left: Evidence, right: Evidence, truth: tuple[Value, ...]) -> dict[str, Any]:
    """Return the fields of a row that say how two versions stand to each other."""
    one, two = left.observation, right.observation
    if one.failure or two.failure:
        outcome, detail = _of_failures(one.failure, two.failure)
        return {"outcome": outcome, "detail": detail}
    compared = PairComparison(left, right, truth).comparisons()
    judged = tuple(each for each in compared if each.metric in _JUDGED)
    outcome, detail = _of_results(judged)
    arguments = [each.what for each in arguments_changed(one.arguments, two.arguments, "")]
    if arguments and outcome != "equal":
        # Results for other arguments say nothing of each other.
        outcome, detail = "not compared", f"it was called otherwise: {'; '.join(arguments)}"
    captured = [each.what for each in captured_changed(one, two)]
    return {
        "outcome": outcome,
        "detail": detail,
        "by_numbers": "" if arguments or captured else _by_numbers(one, two),
        "cause_of_times": "" if arguments or captured else _cause_of_times(one, two),
        "causes": () if outcome == "equal" else (*arguments, *captured),
        "judged": judged,
        # Sizes that are others whenever they are measured again are "not judged", and say nothing.
        "counters": tuple(
            each.model_copy(update={"outcome": "not judged", "detail": ""})
            for each in compared
            if each.outcome == "different" and each.metric in _COUNTERS
        ),
    }


# -- failures --------------------------------------------------------------------------------------


def _of_failures(before: Failure | None, after: Failure | None) -> tuple[VersionOutcome, str]:
    if after is None:
        assert before is not None
        return "fixed failure", f"it failed: {_said(before)}"
    if before is None:
        return "new failure", _said(after)
    if _kind(before) == _kind(after):
        return "same failure", _said(after)
    return "another failure", f"{_said(before)}; now: {_said(after)}"


def _kind(failure: Failure) -> tuple[str, str, str]:
    # Not its message: that may hold an address or a path, and JAX words messages anew.
    return failure.kind, failure.stage, failure.type


def _said(failure: Failure) -> str:
    line = first_line(failure.message)
    return f"{failure.kind} in {failure.stage}: {failure.type}{f': {line}' if line else ''}"


# -- results ---------------------------------------------------------------------------------------


def _of_results(judged: Sequence[Comparison]) -> tuple[VersionOutcome, str]:
    """Return what the comparisons of two results come to, and the worst of them in words."""
    different = [each for each in judged if each.outcome == "different"]
    if different:
        return "different", "; ".join(_in_words(each) for each in different)
    [outputs] = [each for each in judged if each.metric == "outputs"]
    if outputs.outcome == "not compared":
        return "not compared", outputs.detail
    near = [each for each in judged if each.outcome == "expected difference"]
    if near or worst_rung(outputs.leaves) != "bitwise":
        return "within tolerance", "; ".join(_in_words(each) for each in (outputs, *near))
    lost = [each for each in judged if each.outcome == "not compared"]
    if lost:
        return "not compared", "; ".join(f"{each.metric}: {each.detail}" for each in lost)
    return "equal", outputs.detail


def _in_words(comparison: Comparison) -> str:
    if comparison.metric == "outputs" or comparison.metric in effects.METRICS:
        return f"{comparison.metric}: {comparison.detail}"
    values = f"{comparison.left_value} against {comparison.right_value}"
    return f"{comparison.metric}: {values} ({comparison.detail})"


def _by_numbers(before: Observation, after: Observation) -> str:
    """Say whether two versions of JAX trace and lower a program alike, by its digests."""
    if before.numbers is None or after.numbers is None or "" not in after.numbers.modules:
        return ""
    one, two = before.numbers, after.numbers
    modules = one.modules[""], two.modules[""]
    pairs = (one.jaxpr, two.jaxpr), modules
    if any(each.undecided for pair in pairs for each in pair):
        return ""
    is_traced_alike, is_lowered_alike = (left.digest == right.digest for left, right in pairs)
    if not is_traced_alike:
        # The number of a callback has its bytecode, which is another in each Python.
        if modules[0].callbacks and _python(before) != _python(after):
            return ""
        return "traced otherwise, lowered alike" if is_lowered_alike else "traced otherwise"
    return "traced and lowered alike" if is_lowered_alike else "lowered otherwise"


def _python(observation: Observation) -> list[str]:
    """Return the version of Python whose bytecode a side was traced with."""
    version = observation.measured_with.python if observation.measured_with else ""
    return version.split(".")[:2]


def _cause_of_times(before: Observation, after: Observation) -> str:
    """Say by the modules of two versions where another time of a call comes from."""
    one, two = (each.executable.digest if each.executable else "" for each in (before, after))
    stage = _by_numbers(before, after)
    if one and one == two:
        old, new = (e.measured_with.jaxlib if e.measured_with else "" for e in (before, after))
        same = "the optimised module is the same, the time is not"
        if old == new:
            return f"{same}, and jaxlib is {old or 'not known'} in both: what calls it"
        return f"{same}: jaxlib, how it compiles or runs a module ({old} and {new})"
    if one and two and stage.endswith("lowered alike"):
        return "lowered alike, and the optimised module is another: XLA"
    return f"{stage}: JAX" if stage else ""
