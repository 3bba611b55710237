"""A test-suite on both sides of stock JAX as JUnit XML.

A test that differs, that fails otherwise on each side, or that a side did not run, is a failure or
an error. One that fails alike, or that differed once, is skipped, with what is known as its
message: pytest's own `--junitxml` has the outcomes of all tests. Each side has a case, too.
"""

from __future__ import annotations

from collections.abc import Iterator
from xml.etree.ElementTree import Element, SubElement

from reports.output.junit_file import counted, document, legal_text, outcome, properties
from reports.rows.suite_runs import SuiteComparison, SuiteRuns, SuiteSide
from reports.views.suite_runs_page import (
    again_of,
    answer,
    doubt_of,
    is_another_side,
    judged,
    said_of,
    sides_of,
)

_KINDS = {"different": "failure", "fails otherwise": "failure", "not compared": "error"}


def render(runs: SuiteRuns) -> str:
    """Render the runs as JUnit XML.

    Example::

        Path("suite.xml").write_text(render(runs), encoding="utf-8")
    """
    suite = Element(
        "testsuite", name="constparity on stock JAX", timestamp=legal_text(runs.created)
    )
    properties(suite, _of_runs(runs))
    for side in runs.sides:
        _side(suite, side)
    for row, verdict, _ in judged(runs):
        case = _case(suite, row.test, row.interpreter)
        if verdict in _KINDS:
            outcome(case, _KINDS[verdict], verdict, list(_said(row)))
        else:
            _skipped(case, f"{verdict}: {said_of(row)}")
    for row in runs.fail_alike:
        _skipped(_case(suite, row.test, row.interpreter), f"fails alike: {row.legacy}")
    return document([counted(suite, seconds=sum(side.seconds for side in runs.sides))])


def _side(suite: Element, side: SuiteSide) -> None:
    case = _case(suite, side.side, side.interpreter, side.seconds)
    properties(case, _of_side(side))
    if doubt := doubt_of(side):
        if side.ending or is_another_side(side):
            outcome(case, "error", "side", [doubt])
        else:
            SubElement(case, "system-out").text = legal_text(doubt)


def _case(suite: Element, name: str, group: str, seconds: float = 0.0) -> Element:
    return SubElement(
        suite,
        "testcase",
        name=legal_text(name),
        classname=legal_text(group),
        time=f"{seconds:.3f}",
    )


def _skipped(case: Element, message: str) -> None:
    SubElement(case, "skipped", message=legal_text(message))


def _said(row: SuiteComparison) -> Iterator[str]:
    yield said_of(row)
    if again := again_of(row):
        yield again
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
        pairs = zip(change.outcomes, change.interpreters, strict=True)
        said = ", ".join(f"{became} on {name}" for became, name in pairs)
        yield "not alike in all interpreters", f"{change.test}: {said}"


def _of_side(side: SuiteSide) -> Iterator[tuple[str, object]]:
    for name, value in type(side).model_dump(side).items():
        if name == "counts":
            value = ", ".join(f"{count} {word}" for word, count in side.counts.items())
        yield name, "" if value is None else value
