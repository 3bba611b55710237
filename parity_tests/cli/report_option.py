"""The option --report of every command: checked before anything runs, written at the end."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from parity_tests.cli.exit_codes import Exit, complain, fail

if TYPE_CHECKING:
    from rich.console import Console

    from reports import ReportFormat, ReportRequest
    from reports.rows import Campaign


def checked_reports(
    texts: Sequence[str], formats: Sequence[ReportFormat] | None = None
) -> list[ReportRequest]:
    """Parse the --report options, and make sure that every file can be written.

    `formats` are the formats that the command can write; None means the formats of a campaign.
    """
    import reports

    requests: dict[Path, ReportRequest] = {}
    for text in texts:
        try:
            request = reports.parse_report_option(text, formats or reports.FORMATS)
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
    """Write a campaign to every requested report, and print the path of each."""
    import reports

    _write(context, console, requests, lambda request: reports.write_report(request, result))


def write_texts(
    context: typer.Context,
    console: Console,
    requests: Sequence[ReportRequest],
    render: Callable[[ReportFormat], str],
) -> None:
    """Write the text of `render` for each requested format, and print the path of each."""
    from reports import write_atomically

    _write(
        context,
        console,
        requests,
        lambda request: write_atomically(request.path, render(request.format)),
    )


def _write(
    context: typer.Context,
    console: Console,
    requests: Sequence[ReportRequest],
    write: Callable[[ReportRequest], None],
) -> None:
    for request in requests:
        try:
            write(request)
        except OSError as error:  # the disk filled up, or the folder was removed, in the meantime
            complain(str(error))
            context.obj.code = Exit.INTERNAL_ERROR
        else:
            console.print(f"report: {request.path}", highlight=False, markup=False, soft_wrap=True)
