"""The option --report of every command: what it asks for is checked first and written last."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from parity_tests.exits import Exit, fail

if TYPE_CHECKING:
    from rich.console import Console

    from reports import ReportFormat, ReportRequest
    from reports.rows import Campaign


def checked_reports(
    texts: Sequence[str], formats: Sequence[ReportFormat] | None = None
) -> list[ReportRequest]:
    """Parse the --report options and make sure, before anything runs, that all can be written.

    `formats` are those that the command can write, where it cannot write all.
    """
    import reports

    requests: dict[Path, ReportRequest] = {}
    for text in texts:
        try:
            request = reports.parse_report_option(text)
            if formats is not None and request.format not in formats:
                fail(f"this command reports as {' or '.join(formats)} alone, got {text!r}")
            reports.check_writable(request.path)
        except (ValueError, OSError) as error:
            fail(str(error))
        file = request.path.resolve()
        if file in requests:
            fail(
                f"two reports to one file: {requests[file].format}:{requests[file].path} and "
                f"{request.format}:{request.path}; give each a path of its own"
            )
        requests[file] = request
    return list(requests.values())


def write_reports(
    context: typer.Context, console: Console, requests: Sequence[ReportRequest], result: Campaign
) -> None:
    """Write a campaign to every report that was asked for, and say where each is."""
    import reports

    for request in requests:
        try:
            reports.write_report(request, result)
        except OSError as error:  # the disk filled up, or the folder went, while programs ran
            print(f"constparity: {error}", file=sys.stderr)
            context.obj.code = Exit.INTERNAL_ERROR
        else:
            console.print(f"report: {request.path}", highlight=False, soft_wrap=True)
