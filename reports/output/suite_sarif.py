"""A test-suite as SARIF: the captured arrays of each program that differs, at their lines."""

from __future__ import annotations

from collections.abc import Iterator

from reports.output import sarif
from reports.output.sarif import MOST_RESULTS
from reports.rows.suite import SuiteArray, SuiteDifference, SuiteResult
from reports.views.suite_texts import answer, entry, headline, what_differs, why_and_what_helps

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


def render(result: SuiteResult) -> str:
    """Render what differs in a suite as SARIF 2.1.0, a result for each array of each program.

    New differences are errors and known ones notes. What exceeds the limit of code scanning is left
    out, which a notification of the log says.
    """
    found = sorted(_findings(result), key=lambda each: each.level != "error")
    notes = [sarif.shown(answer(result)[0])]
    if len(found) > MOST_RESULTS:
        notes.append(
            f"{len(found) - MOST_RESULTS:,} of {len(found):,} findings are left out, the least "
            "severe, to stay within the limits of code scanning; the JSON report has them"
        )
    failures = [sarif.shown(f"{each.worker}: {each.what} {each.test}") for each in result.lost]
    version = result.versions.constparity
    return sarif.render(version, _RULES, found[:MOST_RESULTS], failures, notes)


def _findings(result: SuiteResult) -> Iterator[sarif.SarifFinding]:
    seen = set()
    for each in result.failing + result.accepted:
        if each.program in seen:
            continue
        seen.add(each.program)
        yield from _of_program(each)
    for row in result.fixed:
        file, line = _place(row.where)
        yield sarif.SarifFinding(_GONE, sarif.shown(entry(row)), "error", file, line)


def _of_program(row: SuiteDifference) -> Iterator[sarif.SarifFinding]:
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
