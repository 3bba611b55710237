"""The option --report of every command: checked before anything runs, written at the end."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from parity_tests.cli.exit_codes import Exit, complain, fail

if TYPE_CHECKING:
    from rich.console import Console

    from reports import ReportFormat, ReportRequest
    from reports.kinds import Kind
    from reports.rows.fail_rules import FailRule
    from reports.rows.row import Row


def checked_reports(
    context: typer.Context,
    texts: Sequence[str],
    formats: Sequence[ReportFormat] | None = None,
    *,
    link: str = "",
    of_proofs: bool = False,
) -> list[ReportRequest]:
    """Parse the --report options, and make sure that every file can be written.

    A report with several files is several requests, one for each file.

    `formats` are the formats that the command can write; None means the formats of a campaign.
    Proofs have tables of their own. `link` is the address of the whole report, for the comments.
    Where a report goes to standard output, whatever else is printed goes to standard error from
    here on.
    """
    import reports
    from reports.output.tables import TABLES, TABLES_OF_PROOFS

    requests: dict[Path | None, ReportRequest] = {}
    inputs = {each.resolve() for each in _named_files(context)}
    tables = TABLES_OF_PROOFS if of_proofs else TABLES
    for text in texts:
        try:
            request = reports.parse_report_option(text, formats or reports.FORMATS)
            reports.check_available(request.format)
            for part in request.parts_of(tables):
                if part.path is not None:
                    reports.check_writable(part.path)
        except (ValueError, OSError, ImportError) as error:
            fail(str(error))
        for part in request.parts_of(tables):
            file = part.path and part.path.resolve()
            if file in inputs:
                what = "would replace the result or the source that the command reads"
                fail(f"the report {part} {what}; give it another path")
            if file in requests:
                where = "one file" if file else "standard output"
                fail(
                    f"two reports to {where}: {requests[file]} and {part}; give each a path of "
                    "its own"
                )
            requests[file] = part
    if None in requests:
        context.with_resource(contextlib.redirect_stdout(sys.stderr))
    return _linked(list(requests.values()), link)


def _named_files(context: typer.Context) -> Iterator[Path]:
    """Yield the store, and the files that arguments name, by themselves or in a target."""
    for parameter in context.command.params:
        if parameter.param_type_name == "argument" or parameter.name == "store":
            given = context.params.get(parameter.name or "")
            for each in given if isinstance(given, list | tuple) else (given,):
                for text in (str(each), str(each).partition(".py:")[0] + ".py"):
                    if each is not None and os.path.isfile(text):  # False for what is closed to us
                        yield Path(text)


def _linked(requests: list[ReportRequest], link: str) -> list[ReportRequest]:
    """Have comments link to the whole report; leaves with `Exit.USAGE` where there is none."""
    if link and all(each.format != "comment" for each in requests):
        fail("--report-url is a link in a comment; ask for one, as in --report comment:comment.md")
    return [replace(each, link=link) if each.format == "comment" else each for each in requests]


def check_for(requests: Sequence[ReportRequest], kind: Kind) -> None:
    """Make sure that a kind has the format of each report; leaves with `Exit.USAGE` else."""
    import reports

    try:
        reports.check_formats(requests, kind.formats, kind.words)
    except ValueError as error:
        fail(str(error))


def check_saving(context: typer.Context, file: Path, reports: Sequence[str]) -> None:
    """Make sure that results can be saved to a file, the arrays beside it, and these reports."""
    from parity_tests.evidence.saved import archive_of

    if not file.name:
        fail(f"--save {file}: name a file, as in A.json")
    if str(file) == "-":
        fail("--save -: name a file, for the arrays are written beside it; --report json:- prints")
    checked_reports(context, [f"json:{file}", f"json:{archive_of(file)}", *reports])


def write_reports(
    context: typer.Context,
    console: Console,
    requests: Sequence[ReportRequest],
    result: Row,
    rules: Sequence[FailRule] = (),
) -> None:
    """Write a result of any kind to every requested report, and print the path of each.

    `rules` say which programs are failures, where a format has such.
    """
    import reports

    def render(request: ReportRequest) -> str | bytes:
        return reports.render_report(request.format, result, rules, request.table, request.link)

    write_texts(context, console, requests, render)


def write_data(
    context: typer.Context, console: Console, requests: Sequence[ReportRequest], result: object
) -> None:
    """Write a result that is no row as JSON: records by their fields."""
    write_texts(context, console, requests, lambda request: as_json(result))


def as_json(result: object) -> bytes:
    """Return a result as the text of a JSON file."""
    import pydantic_core

    return pydantic_core.to_json(result, indent=1, inf_nan_mode="strings") + b"\n"


def _shown(context: typer.Context, what: str) -> contextlib.AbstractContextManager[object]:
    from parity_tests.cli import terminal

    if context.params.get("quiet"):
        return contextlib.nullcontext()
    console = terminal.error_console(has_color=not context.params.get("no_color"))
    return terminal.progress(console, first=what)


def write_texts(
    context: typer.Context,
    console: Console,
    requests: Sequence[ReportRequest],
    render: Callable[[ReportRequest], str | bytes],
) -> None:
    """Write what `render` returns for each request, and print the path of each.

    A report that cannot be written is said, and the others are written all the same.
    """
    import reports

    for request in requests:
        with _shown(context, f"writing {request}"):  # a page of thousands of programs takes a while
            content = render(request)
        if request.path is None:
            context.obj.output.write_bytes(reports.as_bytes(content))
            continue
        try:
            reports.write_atomically(request.path, content)
        except OSError as error:  # the disk filled up, or the folder was removed, in the meantime
            complain(str(error))
            context.obj.code = Exit.INTERNAL_ERROR
        else:
            console.print(f"report: {request.path}", highlight=False, markup=False, soft_wrap=True)
