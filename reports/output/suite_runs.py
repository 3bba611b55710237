"""A test-suite on both sides of stock JAX as JUnit XML and as SARIF.

In JUnit a test that differs, that fails otherwise on each side, or that a side did not run, is a
failure or an error. One that fails alike, or that differed once, is skipped, with what is known as
its message: pytest's own `--junitxml` has the outcomes of all tests. Each side has a case, too.
SARIF has the tests that differ, at their files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from importlib import metadata

from junitparser.xunit2 import TestCase

from reports.documents.suite_runs import (
    again_of,
    answer,
    doubt_of,
    judged,
    said_of,
    sides_of,
    why_of,
)
from reports.output import sarif
from reports.output.junit_file import (
    Outcome,
    case,
    document,
    error,
    failure,
    legal_text,
    skipped,
    suite_of,
)
from reports.rows.suite_runs import SuiteComparison, SuiteRuns, SuiteSide

_KINDS: dict[str, Callable[[str, Sequence[str]], Outcome]] = {
    "different": failure,
    "fails otherwise": failure,
    "not compared": error,
}


def render_junit(runs: SuiteRuns, _rules: object = ()) -> str:
    """Render the runs as JUnit XML; what fails needs no rules."""
    cases = [
        *map(_side, runs.sides),
        *(case("the sides", "faults", error("fault", [each])) for each in runs.faults),
        *(_test(row, verdict) for row, verdict, _ in judged(runs)),
        *(
            case(row.test, row.interpreter, skipped(f"fails alike: {row.legacy}"))
            for row in runs.fail_alike
        ),
    ]
    suite = suite_of("constparity on stock JAX", cases, _of_runs(runs), created=runs.created)
    return document([suite])


def _test(row: SuiteComparison, verdict: str) -> TestCase:
    if kind := _KINDS.get(verdict):
        return case(row.test, row.interpreter, kind(verdict, list(_said(row))))
    return case(row.test, row.interpreter, skipped(f"{verdict}: {said_of(row)}"))


def _side(side: SuiteSide) -> TestCase:
    doubt = doubt_of(side)
    is_wrong = bool(side.ending or side.doubt)
    outcome = error("side", [doubt]) if doubt and is_wrong else None
    made = case(side.side, side.interpreter, outcome, _of_side(side), side.seconds)
    if doubt and not is_wrong:
        made.system_out = legal_text(doubt)
    return made


def _said(row: SuiteComparison) -> Iterator[str]:
    yield said_of(row)
    if again := again_of(row):
        yield again
    if why := why_of(row):
        yield f"what helps: {why}"
    for side, of_side in sides_of(row):
        if of_side.text:
            yield f"---- {side}: {of_side.outcome} ----\n{of_side.text}"


def _of_runs(runs: SuiteRuns) -> Iterator[tuple[str, object]]:
    yield "mode", "jax-both"
    yield "answer", answer(runs)[0]
    yield "tests", runs.tests
    yield "alike", runs.alike
    yield "left out", runs.left_out
    yield "arguments", " ".join(runs.arguments)
    for change in runs.version_changes:
        yield "not alike in all interpreters", f"{change.test}: {change}"


def _of_side(side: SuiteSide) -> Iterator[tuple[str, object]]:
    for name, value in type(side).model_dump(side).items():
        if name == "counts":
            value = ", ".join(f"{count} {word}" for word, count in side.counts.items())
        yield name, "" if value is None else value


# -- as SARIF --------------------------------------------------------------------------------------

_RULES = (
    sarif.SarifRule(
        "test-differs",
        "A test with another outcome where JAX's flag is on",
        "Find what reads the captured arrays: `constparity lint`, and pytest --constparity=both.",
    ),
    sarif.SarifRule(
        "test-fails-otherwise",
        "A test that fails on both sides, with another exception or message",
        "Fix the test on legacy first, and see whether the sides still differ.",
    ),
    sarif.SarifRule(
        "test-not-compared",
        "A test that did not run on both sides",
        "See the report for the reason: a process that ended, or a file that was not imported.",
    ),
)
_OF_VERDICTS: dict[str, tuple[str, sarif.Level]] = {
    "different": ("test-differs", "error"),
    "fails otherwise": ("test-fails-otherwise", "warning"),
    "not compared": ("test-not-compared", "warning"),
}


def render_sarif(runs: SuiteRuns) -> str:
    """Render the runs as SARIF 2.1.0, a result for each test that is not alike.

    A record has no lines of tests, so that a result names the file alone.
    """
    found = list(_findings(runs))
    notes = [sarif.shown(answer(runs)[0])]
    doubts = [
        sarif.shown(f"{each.side}: {doubt_of(each)}") for each in runs.sides if doubt_of(each)
    ]
    version = metadata.version("constparity")
    faults = map(sarif.shown, runs.faults)
    return sarif.render(version, _RULES, found, [*doubts, *faults], notes)


def _findings(runs: SuiteRuns) -> Iterator[sarif.SarifFinding]:
    for row, verdict, _ in judged(runs):
        if verdict in _OF_VERDICTS:
            rule, level = _OF_VERDICTS[verdict]
            file = row.test.partition("::")[0]
            said = sarif.shown(f"{row.test}: {said_of(row)}")
            yield sarif.SarifFinding(
                rule, said, level, file, properties={"test": sarif.shown(row.test)}
            )
