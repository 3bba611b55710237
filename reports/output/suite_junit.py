"""A test-suite as JUnit XML: a test case for each program, with all that is known as properties.

A program that differs is a failure, a known difference is skipped, and a program that was never
compared is skipped as well. Entries to delete and programs off the baseline have cases of their
own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from xml.etree.ElementTree import Element, SubElement

from reports.output.junit_file import counted, document, legal_text, module_of, outcome, properties
from reports.rows.suite import SuiteDifference, SuiteProgram, SuiteResult
from reports.views.suite_texts import (
    NOT_SEEN,
    answer,
    captured,
    entry,
    headline,
    measured,
    state_of,
    states,
    what_differs,
    why_and_what_helps,
)
from reports.views.suite_texts import rule as said_of_rule

_MOST = 50  # differences of a program, and its captured arrays


def render(result: SuiteResult) -> str:
    """Render a suite as JUnit XML.

    Example::

        Path("suite.xml").write_text(render(result), encoding="utf-8")
    """
    of: dict[str, list[SuiteDifference]] = {}
    for each in result.differences:
        of.setdefault(each.program, []).append(each)
    programs = Element("testsuite", name="constparity")
    properties(programs, _of_suite(result))
    for program in result.programs:
        _program(programs, program, of.get(program.identity, ()))
    suites = [counted(programs, seconds=0.0)]
    if about := _about_lists(result):
        suites.append(about)
    return document(suites)


def _program(suite: Element, row: SuiteProgram, found: Sequence[SuiteDifference]) -> None:
    arguments = ", ".join(row.arguments)
    case = _case(suite, f"{row.name}({arguments})", module_of(row.source))
    properties(case, _of_program(row, found))
    failing = [each for each in found if each.state != "known"]
    if failing:
        outcome(case, "failure", "different", list(_said(failing)))
    elif found:
        SubElement(case, "skipped", message=legal_text(f"known difference: {found[0].because}"))
    elif row.rung is None:
        why = "; ".join(row.not_compared) or "no run of it was compared"
        SubElement(case, "skipped", message=legal_text(f"not compared: {why}"))


def _said(found: Sequence[SuiteDifference]) -> Iterator[str]:
    for each in found[:_MOST]:
        test = f" in {each.test}" if each.test else ""
        because = f" ({each.state}: {each.because})" if each.because else ""
        said = f": {what_differs(each)}" if what_differs(each) else ""
        yield f"{headline(each)}{test}{said}{because}"
        yield from why_and_what_helps(each)
    for array in found[0].captured[:_MOST]:
        yield f"it captured {captured(array)}"


def _about_lists(result: SuiteResult) -> Element | None:
    """Return the cases of entries to delete, of the baseline, and of processes that were lost."""
    suite = Element("testsuite", name="constparity lists and processes")
    for each in result.known:
        case = _case(suite, each.where, "known differences")
        if each.state == "fixed":
            outcome(case, "failure", "fixed", [entry(each)])
        elif each.state == "not judged":
            SubElement(case, "skipped", message=legal_text(entry(each)))
    for change in result.baseline:
        case = _case(suite, change.program, "baseline")
        outcome(
            case,
            "failure",
            "baseline",
            [
                f"accepted: {change.accepted or 'no entry'}; found: {change.found or 'did not run'}"
                f"; {change.what_to_do}"
            ],
        )
    for rule in result.measured.rules if result.measured else ():
        case = _case(suite, rule.rule, "rules")
        if rule.broken_by:
            outcome(case, "failure", rule.rule, [said_of_rule(rule)])
    for process in result.lost:
        case = _case(suite, process.test or process.worker, "processes")
        outcome(case, "error", "lost", [f"{process.worker}: {process.what}"])
    return counted(suite, seconds=0.0) if len(suite) else None


def _case(suite: Element, name: str, group: str) -> Element:
    return SubElement(
        suite,
        "testcase",
        name=legal_text(name),
        classname=legal_text(group),
        time="0.000",
    )


def _of_suite(result: SuiteResult) -> Iterator[tuple[str, object]]:
    yield from type(result.versions).model_dump(result.versions).items()
    yield "mode", result.mode
    yield "sees", result.sees
    yield "answer", answer(result)[0]
    yield "differences", states(result) or "none"
    yield "tests that ran a program", result.tests
    yield "tests that compared one", result.compared_tests
    yield "times", measured(result)
    yield "not seen", NOT_SEEN.removeprefix("not seen: ")
    for line in result.outside:
        yield "not shadowed", line


def _of_program(
    row: SuiteProgram, found: Sequence[SuiteDifference]
) -> Iterator[tuple[str, object]]:
    yield "source", row.source
    yield "arguments", ", ".join(row.arguments)
    yield "state", state_of(row, found)[0]
    yield "rung", row.rung or "not compared"
    yield "equations", row.equations
    yield "captured arrays", row.captured
    yield "captured bytes", row.captured_bytes
    yield "one executable", row.one_executable
    for why in row.not_compared:
        yield "not compared each time", why
