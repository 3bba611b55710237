"""The section of the terminal summary: both sides as they said themselves, and what differs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from parity_tests.suites.stock_runs.outcomes import without_numbers
from reports.documents.suite_runs import WHAT_HELPS, why_of
from reports.rows.suite_runs import SuiteComparison, SuiteRuns, SuiteSide, SuiteVersionChange

MOST_TESTS = 10  # of a group
MOST_GROUPS = 20


def summary_lines(result: SuiteRuns) -> Iterator[str]:
    """Yield the lines of the summary.

    Example::

        "jax-legacy: JAX 0.10.2, jaxlib 0.10.2, Python 3.11.9; flag False: 12 passed, 1 failed"
    """
    for side in result.sides:
        yield _side_line(side)
        yield from _doubts(side)
    if result.left_out:
        yield f"stopped early: {result.left_out} of the tests are not among these"
    yield f"{result.alike} alike{_counts(result)}"
    yield from _grouped("different", result.differences)
    if not all(each.action for each in result.differences):
        yield WHAT_HELPS
    yield from _grouped(
        "not repeatable: different once, alike when run again", result.not_repeatable
    )
    yield from _grouped("not compared", result.not_compared)
    yield from _grouped("fails on both sides, otherwise on each", result.fail_otherwise)
    yield from _grouped("fails alike on both sides", result.fail_alike)
    yield from _grouped("knows the flag: one side skips it for that", result.know_the_flag)
    yield from _changed("alike on both sides, and not in all interpreters", result.version_changes)


def _counts(result: SuiteRuns) -> str:
    counts = {
        "fail alike": result.fail_alike,
        "fail otherwise": result.fail_otherwise,
        "different": result.differences,
        "not repeatable": result.not_repeatable,
        "not compared": result.not_compared,
        "know the flag": result.know_the_flag,
    }
    return "".join(f", {len(found)} {name}" for name, found in counts.items() if found)


def _side_line(side: SuiteSide) -> str:
    counts = ", ".join(f"{number} {outcome}" for outcome, number in side.counts.items())
    jax = f"JAX {side.jax}, jaxlib {side.jaxlib}, Python {side.python}"
    flag = "not read, for nothing imported JAX" if side.flag_at_end is None else side.flag_at_end
    return f"{side.side}: {jax}; flag {flag}: {counts or 'no tests'} in {side.seconds:.1f} seconds"


def _doubts(side: SuiteSide) -> Iterator[str]:
    if side.flag_at_end is not None and not side.is_proven:
        yield f"  the flag of {side.side} was {side.flag_at_end} at the end: a test has changed it"
    if side.starts > 1:
        yield f"  {side.starts} processes, for tests ended {side.starts - 1} of them"
    if side.ending:
        yield f"  {side.ending}"


def _grouped(title: str, found: Sequence[SuiteComparison]) -> Iterator[str]:
    """Yield tests by what they say, numbers aside, the largest group first."""
    groups: dict[tuple[str, str], list[SuiteComparison]] = {}
    for each in found:
        key = (each.interpreter, without_numbers(_said(each)))
        groups.setdefault(key, []).append(each)
    yield from _listed(
        title, {_with_why(group[0]): [each.test for each in group] for group in groups.values()}
    )


def _with_why(compared: SuiteComparison) -> str:
    why = why_of(compared)
    return f"{_said(compared)}\n    -> {why}" if why else _said(compared)


def _said(compared: SuiteComparison) -> str:
    legacy, simplified = str(compared.legacy), str(compared.simplified)
    if legacy == simplified:
        return f"{legacy} ({compared.interpreter})"
    return f"jax-legacy {legacy} | jax-simplified {simplified} ({compared.interpreter})"


def _changed(title: str, found: Sequence[SuiteVersionChange]) -> Iterator[str]:
    groups: dict[str, list[str]] = {}
    for each in found:
        pairs = zip(each.outcomes, each.interpreters, strict=True)
        said = ", ".join(f"{outcome} on {name}" for outcome, name in pairs)
        groups.setdefault(said, []).append(each.test)
    yield from _listed(title, groups)


def _listed(title: str, groups: Mapping[str, Sequence[str]]) -> Iterator[str]:
    by_size = sorted(groups.items(), key=lambda group: len(group[1]), reverse=True)
    if groups:
        yield ""
        yield f"{title}: {sum(map(len, groups.values()))}"
    for said, tests in by_size[:MOST_GROUPS]:
        yield from f"  {len(tests)} x {said}".splitlines()
        yield from (f"    {test}" for test in tests[:MOST_TESTS])
        if len(tests) > MOST_TESTS:
            yield f"    and {len(tests) - MOST_TESTS} more"
    if len(by_size) > MOST_GROUPS:
        yield f"  and {len(by_size) - MOST_GROUPS} more groups"
