"""The formats of a report on a test-suite, in shadow mode or on stock JAX."""

from __future__ import annotations

from collections.abc import Callable

from reports.output import (
    json_file,
    suite_junit,
    suite_pages,
    suite_runs_junit,
    suite_runs_pages,
    suite_runs_sarif,
    suite_sarif,
)
from reports.output.formats import ReportFormat
from reports.rows.suite import SuiteResult
from reports.rows.suite_runs import SuiteRuns

# Each takes a result, and the address of the whole report.
_OF_SUITES: dict[ReportFormat, Callable[[SuiteResult, str], str]] = {
    "html": lambda result, _: suite_pages.render_html(result),
    "md": lambda result, _: suite_pages.render_markdown(result),
    "comment": lambda result, link: suite_pages.render_comment(result, link=link),
    "junit": lambda result, _: suite_junit.render(result),
    "sarif": lambda result, _: suite_sarif.render(result),
    "json": lambda result, _: json_file.render_suite(result),
}
# The same formats, so that a setting of a project fits both modes.
_OF_RUNS: dict[ReportFormat, Callable[[SuiteRuns, str], str]] = {
    "html": lambda runs, _: suite_runs_pages.render_html(runs),
    "md": lambda runs, _: suite_runs_pages.render_markdown(runs),
    "comment": lambda runs, link: suite_runs_pages.render_comment(runs, link=link),
    "junit": lambda runs, _: suite_runs_junit.render(runs),
    "sarif": lambda runs, _: suite_runs_sarif.render(runs),
    "json": lambda runs, _: json_file.render_suite(runs),
}
SUITE_FORMATS: tuple[ReportFormat, ...] = tuple(_OF_SUITES)


def render_suite(format_: ReportFormat, result: SuiteResult | SuiteRuns, link: str = "") -> str:
    """Render a suite in a format; `link` is the address of the whole report, for comments.

    Raises `ValueError` for a link that is neither http nor https.

    Example::

        render_suite("md", load_suite("suite.json")).startswith("# constparity")
    """
    if isinstance(result, SuiteRuns):
        return _OF_RUNS[format_](result, link)
    return _OF_SUITES[format_](result, link)
