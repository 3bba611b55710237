"""The verdict of each test over all interpreters, and the record of the whole run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

from parity_tests.suites.stock_runs.heard import Phase
from parity_tests.suites.stock_runs.outcomes import (
    NOT_COLLECTED,
    NOT_RUN,
    Pair,
    differs,
    have_one_reason,
    is_good,
    is_repeatable,
    knows_the_flag,
    names_the_flag,
    phases_of,
    side_record,
)
from reports.rows import now
from reports.rows.suite_runs import StockSide, SuiteComparison, SuiteRuns, SuiteVersionChange

Kind = Literal[
    "absent",
    "alike",
    "sets the flag",
    "not repeatable",
    "knows the flag",
    "fails alike",
    "fails otherwise",
    "not compared",
    "different",
]
_BY_WEIGHT: tuple[Kind, ...] = get_args(Kind)
_WITH_ONE_OUTCOME: tuple[Kind, ...] = (
    *("absent", "alike", "sets the flag", "fails alike", "fails otherwise"),
)


@dataclass(frozen=True)
class Judged:
    """A test in one interpreter, and the phases of the side that it is reported as."""

    kind: Kind
    compared: SuiteComparison
    phases: Sequence[Phase]


@dataclass(frozen=True)
class Verdict:
    """A test in all interpreters that have run."""

    test: str
    judged: Sequence[Judged]

    @property
    def worst(self) -> Judged:
        """The judgement that the test's own outcome comes from; the first of the worst."""
        return max(self.judged, key=lambda each: _BY_WEIGHT.index(each.kind))


def kind_of(compared: SuiteComparison) -> Kind:
    """Judge a test by its outcomes on both sides."""
    outcomes = {compared.legacy.outcome, compared.simplified.outcome}
    if NOT_RUN in outcomes:
        return "not compared"
    if outcomes == {NOT_COLLECTED} and not compared.legacy.summary:
        return "absent"
    if knows_the_flag(compared):
        return "knows the flag"
    if differs(compared):
        return "different" if is_repeatable(compared) else "not repeatable"
    same = have_one_reason(compared.legacy, compared.simplified)
    if is_good(compared.legacy):
        if not same and "xfailed" in compared.legacy.outcome:
            return "fails otherwise"
        return "sets the flag" if compared.sets_flag else "alike"
    return "fails alike" if same else "fails otherwise"


def verdict_of(test: str, pairs: Iterable[Pair]) -> Verdict:
    """Judge a test in all interpreters in which its outcomes are known.

    A test that an interpreter does not have is judged by the others; without any it is an error.
    """
    judged = []
    for pair in pairs:
        if not pair.knows(test):
            continue
        compared = pair.compared(test)
        phases = phases_of(pair.first[_reported_as(compared)], test)
        judged.append(Judged(kind_of(compared), compared, phases))
    if all(each.kind == "absent" for each in judged):
        judged = [replace(each, kind="not compared") for each in judged]
    return Verdict(test, judged)


def _reported_as(compared: SuiteComparison) -> StockSide:
    """Return the side that a test is reported as: legacy, unless the flag skips it there."""
    skipped = knows_the_flag(compared) and names_the_flag(compared.legacy)
    return "jax-simplified" if skipped else "jax-legacy"


def tests_of(collected: Sequence[str], pairs: Iterable[Pair]) -> list[str]:
    """Return the tests that the parent collected, then those that a process alone did."""
    return list(dict.fromkeys([*collected, *(test for pair in pairs for test in pair.tests())]))


def verdicts_of(collected: Sequence[str], pairs: Sequence[Pair]) -> list[Verdict]:
    """Judge the tests, of which an interrupted run knows some."""
    verdicts = (verdict_of(test, pairs) for test in tests_of(collected, pairs))
    return [verdict for verdict in verdicts if verdict.judged]


def result_of(
    pairs: Sequence[Pair],
    verdicts: Sequence[Verdict],
    arguments: Sequence[str],
    *,
    left_out: int = 0,
) -> SuiteRuns:
    """Return the record of a run, which reports are made of.

    `arguments` are those of the processes. `left_out` are tests that the parent collected, and that
    were not reported since the run was stopped.
    """
    judged = [each for verdict in verdicts for each in verdict.judged]

    def of(kind: Kind) -> tuple[SuiteComparison, ...]:
        return tuple(each.compared for each in judged if each.kind == kind)

    return SuiteRuns(
        created=now(),
        arguments=tuple(arguments),
        tests=len(verdicts),
        sides=tuple(side_record(run, pair.python) for pair in pairs for run in pair.first.values()),
        left_out=left_out,
        alike=len(of("alike")),
        set_the_flag=of("sets the flag"),
        differences=of("different"),
        not_repeatable=of("not repeatable"),
        know_the_flag=of("knows the flag"),
        fail_otherwise=of("fails otherwise"),
        fail_alike=of("fails alike"),
        not_compared=of("not compared"),
        version_changes=tuple(filter(None, map(_version_change, verdicts))),
    )


def _version_change(verdict: Verdict) -> SuiteVersionChange | None:
    if any(each.kind not in _WITH_ONE_OUTCOME for each in verdict.judged):
        return None
    outcomes = tuple(each.compared.legacy.outcome for each in verdict.judged)
    if len(set(outcomes)) < 2:
        return None
    names = tuple(each.compared.interpreter for each in verdict.judged)
    return SuiteVersionChange(test=verdict.test, interpreters=names, outcomes=outcomes)
