"""A test-suite on both sides of stock JAX as SARIF: the tests that differ, at their files."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import metadata

from reports.documents.suite_runs import answer, doubt_of, judged, said_of
from reports.output import sarif
from reports.output.sarif_file import MOST_RESULTS
from reports.rows.suite_runs import SuiteRuns
from reports.views.texts import cut, visible

_RULES = (
    sarif.SarifRule(
        "test-differs",
        "A test with another outcome where JAX's flag is on",
        "Find what reads the captured arrays: `constparity lint`, and pytest --constparity=both.",
    ),
    sarif.SarifRule(
        "test-fails-otherwise",
        "A test that fails on both sides, with another exception or message",
        "Mend the test on legacy first, and see whether the sides still differ.",
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
_TEXT_LENGTH = 1000


def render(runs: SuiteRuns) -> str:
    """Render the runs as SARIF 2.1.0, a result for each test that is not alike.

    A record has no lines of tests, so that a result names the file alone.

    Example::

        Path("suite.sarif").write_text(render(runs), encoding="utf-8")
    """
    found = list(_findings(runs))
    notes = [_said(answer(runs)[0])]
    if len(found) > MOST_RESULTS:
        notes.append(f"{len(found) - MOST_RESULTS:,} of {len(found):,} findings are left out")
    doubts = [_said(f"{each.side}: {doubt_of(each)}") for each in runs.sides if doubt_of(each)]
    version = metadata.version("constparity")
    return sarif.render(version, _RULES, found[:MOST_RESULTS], doubts, notes)


def _findings(runs: SuiteRuns) -> Iterator[sarif.SarifFinding]:
    for row, verdict, _ in judged(runs):
        if verdict in _OF_VERDICTS:
            rule, level = _OF_VERDICTS[verdict]
            file = row.test.partition("::")[0]
            said = _said(f"{row.test}: {said_of(row)}")
            yield sarif.SarifFinding(rule, said, level, file, properties={"test": _said(row.test)})


def _said(text: str) -> str:
    return visible(cut(text, _TEXT_LENGTH))
