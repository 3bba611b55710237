"""The record of a run as a file: written whole, read back, and missed where it is not there."""

import pytest

from reports.rows.suite_runs import SuiteComparison, SuiteOutcome, SuiteRuns

RUNS = SuiteRuns(
    created="2026-01-01T00:00:00+00:00",
    arguments=("-q",),
    tests=2,
    sides=(),
    alike=1,
    differences=(
        SuiteComparison(
            test="t.py::test_\u00e9",
            interpreter="JAX 0.10.2",
            legacy=SuiteOutcome(outcome="passed"),
            simplified=SuiteOutcome(outcome="failed", summary="assert 0", text="..."),
            again=("passed", "failed"),
        ),
    ),
)


@pytest.mark.parametrize(
    ("report", "said"),
    [
        ("json:/dev/null", "it exists and is not a regular file"),
        ("json:", "it must be FORMAT:PATH"),
        ("pdf:a.pdf", "FORMAT one of html, md, comment, junit, sarif, json"),
    ],
)
def test_a_report_that_cannot_be_written_is_refused_at_the_start(plant, run, report, said):
    done = run(plant("def test_one(): pass"), f"--constparity-report={report}")
    assert done.code == 4
    assert said in done.printed


def test_a_report_that_is_not_written_fails_the_run(plant, run):
    folder = plant("""
def test_one():
    Path("reports").rename("others")  # the folder of the report
    Path("reports").touch()
""")
    done = run(folder, "--constparity-report=json:reports/suite.json", "-k", "one")
    assert "cannot write the report to" in done.printed
    assert done.code == 1
