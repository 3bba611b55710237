"""A test-suite on both sides of stock JAX as SARIF: the tests that differ, at their files."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import metadata

from reports.documents.suite_runs import answer, doubt_of, judged, said_of
from reports.output import sarif
from reports.output.sarif import MOST_RESULTS
from reports.rows.suite_runs import SuiteRuns

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


def render(runs: SuiteRuns) -> str:
    """Render the runs as SARIF 2.1.0, a result for each test that is not alike.

    A record has no lines of tests, so that a result names the file alone.
    """
    found = list(_findings(runs))
    notes = [sarif.shown(answer(runs)[0])]
    if len(found) > MOST_RESULTS:
        notes.append(f"{len(found) - MOST_RESULTS:,} of {len(found):,} findings are left out")
    doubts = [
        sarif.shown(f"{each.side}: {doubt_of(each)}") for each in runs.sides if doubt_of(each)
    ]
    version = metadata.version("constparity")
    return sarif.render(version, _RULES, found[:MOST_RESULTS], doubts, notes)


def _findings(runs: SuiteRuns) -> Iterator[sarif.SarifFinding]:
    for row, verdict, _ in judged(runs):
        if verdict in _OF_VERDICTS:
            rule, level = _OF_VERDICTS[verdict]
            file = row.test.partition("::")[0]
            said = sarif.shown(f"{row.test}: {said_of(row)}")
            yield sarif.SarifFinding(
                rule, said, level, file, properties={"test": sarif.shown(row.test)}
            )
