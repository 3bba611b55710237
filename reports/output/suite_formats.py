"""The formats of a report on a test-suite, in shadow mode or on stock JAX."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from reports.output import (
    json_file,
    suite_junit,
    suite_pages,
    suite_runs_junit,
    suite_runs_pages,
    suite_runs_sarif,
    suite_sarif,
)
from reports.output.formats import ReportFormat, ReportRequest
from reports.rows.suite import SuiteResult
from reports.rows.suite_runs import SuiteRuns

_OF_SUITES: dict[ReportFormat, Callable[[SuiteResult], str]] = {
    "html": suite_pages.render_html,
    "md": suite_pages.render_markdown,
    "comment": suite_pages.render_comment,
    "junit": suite_junit.render,
    "sarif": suite_sarif.render,
    "json": json_file.render_suite,
}
# The same formats, so that a setting of a project fits both modes.
_OF_RUNS: dict[ReportFormat, Callable[[SuiteRuns], str]] = {
    "html": suite_runs_pages.render_html,
    "md": suite_runs_pages.render_markdown,
    "comment": suite_runs_pages.render_comment,
    "junit": suite_runs_junit.render,
    "sarif": suite_runs_sarif.render,
    "json": json_file.render_suite,
}
SUITE_FORMATS: tuple[ReportFormat, ...] = tuple(_OF_SUITES)


def check_for_suites(requests: Sequence[ReportRequest]) -> None:
    """Make sure that a suite has the format of each request. Raises `ValueError`.

    Example::

        check_for_suites([parse_report_option("html:report.html")])
    """
    for request in requests:
        if request.format not in SUITE_FORMATS:
            raise ValueError(
                f"illegal report '{request}': the formats of a test-suite are "
                f"{', '.join(SUITE_FORMATS)}"
            )


def render_suite(format_: ReportFormat, result: SuiteResult | SuiteRuns) -> str:
    """Render a suite in a format.

    Example::

        render_suite("md", load_suite("suite.json")).startswith("# constparity")
    """
    if isinstance(result, SuiteRuns):
        return _OF_RUNS[format_](result)
    return _OF_SUITES[format_](result)
