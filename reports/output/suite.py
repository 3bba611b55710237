"""A test-suite as JUnit XML and as SARIF.

In JUnit a test case stands for each program, with all that is known as properties. A program that
differs is a failure, a known difference is skipped, and a program that was never compared is
skipped as well. Entries to delete and programs off the baseline have cases of their own. SARIF has
the captured arrays of each program that differs, at their lines.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from junitparser.xunit2 import TestCase

from reports.documents.suite import state_and_tone
from reports.output import sarif
from reports.output.junit_file import (
    Outcome,
    case,
    document,
    error,
    failure,
    module_of,
    skipped,
    suite_of,
)
from reports.rows.proofs import reasons_of
from reports.rows.suite import SuiteArray, SuiteDifference, SuiteProgram, SuiteResult
from reports.views.suite_texts import (
    answer,
    captured,
    entry,
    for_nothing,
    headline,
    measured,
    not_seen,
    states,
    what_differs,
    why_and_what_helps,
)
from reports.views.suite_texts import rule as said_of_rule

_MOST = 50  # differences of a program, and its captured arrays


def render_junit(result: SuiteResult, _rules: object = ()) -> str:
    """Render a suite as JUnit XML; its own rules were judged when it ran."""
    of: dict[str, list[SuiteDifference]] = {}
    for each in result.differences:
        of.setdefault(each.program, []).append(each)
    programs = [_program(each, of.get(each.identity, ())) for each in result.programs]
    suites = [suite_of("constparity", programs, _of_suite(result))]
    if others := list(_about_lists(result)):
        suites.append(suite_of("constparity lists and processes", others))
    return document(suites)


def _program(row: SuiteProgram, found: Sequence[SuiteDifference]) -> TestCase:
    name = f"{row.name}({', '.join(row.arguments)})"
    return case(name, module_of(row.source), _outcome(row, found), _properties(row, found))


def _outcome(row: SuiteProgram, found: Sequence[SuiteDifference]) -> Outcome | None:
    if failing := [each for each in found if each.state != "known"]:
        return failure("different", list(_said(failing)))
    if found:
        return skipped(f"known difference: {found[0].because}")
    if row.proof is not None and row.proof.answer != "proved":
        return skipped(f"{row.proof.answer}: {'; '.join(reasons_of(row.proof))}")
    if not row.is_judged:
        why = "; ".join(row.not_compared) or "no run of it was compared"
        return skipped(f"not compared: {why}")
    return None


def _said(found: Sequence[SuiteDifference]) -> Iterator[str]:
    for each in found[:_MOST]:
        test = f" in {each.test}" if each.test else ""
        because = f" ({each.state}: {each.because})" if each.because else ""
        said = f": {what_differs(each)}" if what_differs(each) else ""
        yield f"{headline(each)}{test}{said}{because}"
        yield from why_and_what_helps(each)
    for array in found[0].captured[:_MOST]:
        yield f"it captured {captured(array)}"


def _about_lists(result: SuiteResult) -> Iterator[TestCase]:
    """Yield the cases of entries to delete, of the baseline, and of processes that were lost."""
    for each in result.known:
        outcome: Outcome | None = None
        if each.state == "fixed":
            outcome = failure("matches nothing" if each.why else "fixed", [entry(each)])
        elif each.state == "not judged":
            outcome = skipped(entry(each))
        yield case(each.where, "known differences", outcome)
    for change in result.baseline:
        said = (
            f"accepted: {change.accepted or 'no entry'}; found: {change.found or 'did not run'}"
            f"; {change.what_to_do}"
        )
        yield case(change.program, "baseline", failure("baseline", [said]))
    if unmeasured := result.measured and result.measured.problem:
        yield case("the collected programs", "rules", error("not measured", [unmeasured]))
    for rule in result.measured.rules if result.measured else ():
        outcome = skipped("not measured") if unmeasured else None
        broken = failure(rule.rule, [said_of_rule(rule)]) if rule.broken_by else outcome
        yield case(rule.rule, "rules", broken)
    if result.for_nothing:
        yield case("the suite", "processes", failure("for nothing", [for_nothing(result)]))
    for process in result.lost:
        lost = error("lost", [f"{process.worker}: {process.what}"])
        yield case(process.test or process.worker, "processes", lost)


def _of_suite(result: SuiteResult) -> Iterator[tuple[str, object]]:
    left_out = "not proved" if result.is_proof else "not shadowed"
    yield from type(result.versions).model_dump(result.versions).items()
    yield "mode", result.mode
    yield "sees", result.sees
    yield "answer", answer(result)[0]
    yield "differences", states(result) or "none"
    yield "tests that ran a program", result.tests
    yield "tests that compared one", result.compared_tests
    yield "times", measured(result)
    for line in (not_seen(result), *(f"{left_out}: {each}" for each in result.outside)):
        name, _, said = line.partition(": ")
        yield name, said


def _properties(
    row: SuiteProgram, found: Sequence[SuiteDifference]
) -> Iterator[tuple[str, object]]:
    yield "source", row.source
    yield "arguments", ", ".join(row.arguments)
    yield "state", state_and_tone(row, found)[0]
    if row.proof is None:
        yield "rung", row.rung or "not compared"
    yield "equations", row.equations
    yield "captured arrays", row.captured
    yield "captured bytes", row.captured_bytes
    yield "one executable", row.one_executable
    for why in row.not_compared:
        yield "not compared each time", why


# -- as SARIF --------------------------------------------------------------------------------------

_RULES = (
    sarif.SarifRule(
        "captured-array-of-a-difference",
        "An array captured by a program on whose results the pipelines differ",
        "Pass the array as an argument, or list the difference as known.",
    ),
    sarif.SarifRule(
        "program-differs",
        "A program without captured arrays on whose results the pipelines differ",
        "Report it to constparity, or list the difference as known.",
    ),
    sarif.SarifRule(
        "known-difference-is-gone",
        "An entry of a list of known differences that matches nothing",
        "Delete the entry.",
    ),
)
_ARRAY, _PROGRAM, _GONE = (rule.id for rule in _RULES)


def render_sarif(result: SuiteResult) -> str:
    """Render what differs in a suite as SARIF 2.1.0, a result for each array of each program.

    New differences are errors and come first, known ones are notes.
    """
    found = sorted(_findings(result), key=lambda each: each.level != "error")
    notes = [sarif.shown(answer(result)[0])]
    failures = [sarif.shown(f"{each.worker}: {each.what} {each.test}") for each in result.lost]
    if result.measured and result.measured.problem:
        failures.append(sarif.shown(result.measured.problem))
    version = result.versions.constparity
    return sarif.render(version, _RULES, found, failures, notes)


def _findings(result: SuiteResult) -> Iterator[sarif.SarifFinding]:
    seen = set()
    for each in result.failing + result.accepted:
        if each.program in seen:
            continue
        seen.add(each.program)
        yield from _findings_of(each)
    for row in (*result.fixed, *result.misspelt):
        file, line = _place(row.where)
        yield sarif.SarifFinding(_GONE, sarif.shown(entry(row)), "error", file, line)


def _findings_of(row: SuiteDifference) -> Iterator[sarif.SarifFinding]:
    level: sarif.Level = "note" if row.state == "known" else "error"
    what = ": ".join(filter(None, [headline(row), what_differs(row)]))
    if row.reasons:
        what = f"{what}. {' '.join(map(str.strip, why_and_what_helps(row)))}"
    if row.because:
        what = f"{row.state} ({row.because}): {what}"
    properties = {
        "program": sarif.shown(row.name),
        "test": sarif.shown(row.test),
        "state": row.state,
    }
    if not row.captured:
        file, line = _place(row.source)
        yield sarif.SarifFinding(
            _PROGRAM, sarif.shown(what), level, file, line, properties=properties
        )
    for array in row.captured:
        yield _of_array(array, what, level, properties)


def _of_array(
    array: SuiteArray, what: str, level: sarif.Level, properties: dict[str, str]
) -> sarif.SarifFinding:
    return sarif.SarifFinding(
        _ARRAY,
        sarif.shown(f"{array.aval}, {array.bytes:,} bytes, is captured. {what}"),
        level,
        array.file or None,
        array.line if array.file and array.line > 0 else None,
        properties={**properties, "bytes": array.bytes},
    )


def _place(source: str) -> tuple[str | None, int | None]:
    file, _, line = source.rpartition(":")
    return (file, int(line)) if file and line.isdecimal() and int(line) else (None, None)
