"""The reports of a run: checked before the first test, written after the last."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import reports

if TYPE_CHECKING:
    from reports import ReportRequest
    from reports.rows.suite import SuiteResult
    from reports.rows.suite_runs import SuiteRuns


def requested(options: Sequence[str]) -> list[ReportRequest]:
    """Return the reports that options ask for, all of which can be written.

    Raises `pytest.UsageError`, which says what is wrong with which.

    Example::

        requested(["html:report.html", "json:suite.json"])
    """
    try:
        return _checked(options)
    except (ValueError, OSError) as error:
        raise pytest.UsageError(f"--constparity-report: {error}") from error


def _checked(options: Sequence[str]) -> list[ReportRequest]:
    found: dict[Path, ReportRequest] = {}
    for option in options:
        request = reports.parse_report_option(option, reports.formats_of("suite"))
        if request.path is None:
            raise ValueError(f"report '{request}': pytest has the standard output; name a file")
        reports.check_writable(request.path)
        file = request.path.resolve()
        if file in found:
            raise ValueError(
                f"two reports to one file: {found[file]} and {request}; give each a path of its own"
            )
        # A test may change the directory.
        found[file] = reports.ReportRequest(request.format, file)
    return list(found.values())


def written(
    requests: Sequence[ReportRequest], result: SuiteResult | SuiteRuns
) -> Iterator[tuple[str, bool]]:
    """Write the reports, and yield a line for each with whether it was written.

    One that cannot be written does not keep the others from it.
    """
    for request in requests:
        assert request.path is not None
        content = reports.render_report(request.format, result)
        try:
            reports.write_atomically(request.path, content)
        except OSError as error:
            yield str(error), False
        else:
            yield f"report: {request.path}", True
