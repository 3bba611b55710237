"""A result in one of its formats, and the one parser of the option that asks for them."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reports import documents
from reports.kinds import ReportFormat, formats_of, kind_of
from reports.output import comment, html, json_file, markdown, tables
from reports.output.files import write_atomically
from reports.output.tables import TABLES, TableName
from reports.rows import Campaign
from reports.rows.fail_rules import DEFAULT_RULES, FailRule
from reports.rows.grid import Grid
from reports.rows.row import Row

Content = str | bytes  # text is written as UTF-8


@dataclass(frozen=True)
class ReportRequest:
    """A report that somebody asked for: in which format, and where.

    `path` is None for standard output. A report in CSV or Parquet has a file for each table, which
    `parts` and `parts_of` are the requests for; `table` says which one a request is for. `link` is
    the address of the whole report, which a comment links to; "" where there is none.

    Example::

        >>> str(ReportRequest("md", Path("report.md")))
        'md:report.md'
    """

    format: ReportFormat
    path: Path | None
    table: TableName = "programs"
    link: str = ""

    def __str__(self) -> str:
        return f"{self.format}:{self.path or '-'}"

    @property
    def parts(self) -> tuple[ReportRequest, ...]:
        """A request for each file; standard output takes the programs alone.

        Example::

            >>> [str(each) for each in ReportRequest("csv", Path("out.csv")).parts]
            ['csv:out.csv', 'csv:out.metrics.csv', 'csv:out.captured_arrays.csv']
        """
        return self.parts_of(TABLES)

    def parts_of(self, tables: Iterable[TableName]) -> tuple[ReportRequest, ...]:
        """Return a request for each file of a result that has these tables."""
        path = self.path
        if self.format not in _LIBRARIES or path is None:
            return (self,)
        others = (each for each in tables if each != self.table)
        return (
            self,
            *(
                ReportRequest(
                    self.format, path.with_name(f"{path.stem}.{table}{path.suffix}"), table
                )
                for table in others
            ),
        )


_LIBRARIES: dict[ReportFormat, tuple[str, ...]] = {
    "csv": ("pandas",),
    "parquet": ("pandas", "pyarrow"),
}
FORMATS, GRID_FORMATS = formats_of("campaign"), formats_of("grid")
# The names that files of a format usually end in, where that is not the name of the format.
_SUFFIXES: dict[str, str] = {"comment": "md", "junit": "xml"}


def parse_report_option(option: str, formats: Sequence[ReportFormat] = FORMATS) -> ReportRequest:
    """Parse an option such as `html:out/report.html` into the request that it makes.

    A path of "-" is standard output; a file of that name is ./- here.

    Raises `ValueError` where the format is not one of `formats`, or the path is missing or names a
    folder.

    Example::

        >>> parse_report_option("html:out/report.html").format
        'html'
        >>> parse_report_option("report.md", formats=("html", "md"))
        Traceback (most recent call last):
        ...
        ValueError: illegal report 'report.md': it must be FORMAT:PATH with FORMAT one of html, \
md, for example html:report.html
    """
    name, separator, path = option.partition(":")
    legal = {format_: format_ for format_ in formats}
    if name not in legal or not separator or not path:
        raise ValueError(
            f"illegal report {option!r}: it must be FORMAT:PATH with FORMAT one of "
            f"{', '.join(formats)}, for example {_example(name, formats)}"
        )
    if path == "-":
        return ReportRequest(legal[name], None)
    if path.endswith(("/", os.sep)):
        raise ValueError(
            f"illegal report {option!r}: the path names a folder; name a file in it, for example "
            f"{name}:{path}{_file(name)}"
        )
    # The shell does not expand the ~ in html:~/report.html, and a folder called ~ is a trap.
    return ReportRequest(legal[name], Path(os.path.expanduser(path)))


def check_formats(
    requests: Sequence[ReportRequest], formats: Sequence[ReportFormat], whose: str
) -> None:
    """Make sure that the format of each request is one of `formats`. Raises `ValueError`.

    `whose` says in the message what the formats are of.
    """
    for request in requests:
        if request.format not in formats:
            raise ValueError(
                f"illegal report '{request}': the formats of {whose} are {', '.join(formats)}"
            )


def check_available(format_: ReportFormat) -> None:
    """Make sure that the libraries of a format are installed.

    Raises `TablesMissingError`, whose message names the extra that brings them.
    """
    tables.check_installed(*_LIBRARIES.get(format_, ()))


def render_report(
    format_: ReportFormat,
    result: Row,
    rules: Sequence[FailRule] = DEFAULT_RULES,
    table: TableName = "programs",
    link: str = "",
) -> Content:
    """Render a result of any kind in one of its formats.

    A program that breaks one of `rules` fails in JUnit; `table` is for CSV and Parquet, and `link`,
    the http or https address of the whole report, for comments. Raises `ValueError` for another
    link, and for a format that the kind of result does not have.

    Example::

        render_report("md", load_campaign("report.json")).startswith("# constparity")
    """
    kind = kind_of(result)
    if format_ == "json":
        return json_file.render(result) if kind.option else result.model_dump_json(indent=1) + "\n"
    if format_ not in kind.formats:
        raise ValueError(f"a {type(result).__name__} cannot be written in the format {format_}")
    if format_ in kind.writers:
        more: dict[str, Any] = {"junit": [rules], "csv": [table], "parquet": [table]}
        return kind.writer(format_)(result, *more.get(format_, ()))
    document = documents.document(result)
    if format_ == "comment":
        return comment.render(document, link)
    return html.render(document) if format_ == "html" else markdown.render(document)


def render_grid(
    format_: ReportFormat,
    grid: Grid,
    rules: Sequence[FailRule] = DEFAULT_RULES,
    table: TableName = "programs",
    link: str = "",
) -> Content:
    """Render a grid in a format, as `render_report` does."""
    return render_report(format_, grid, rules, table, link)


def write_report(
    request: ReportRequest, campaign: Campaign, rules: Sequence[FailRule] = DEFAULT_RULES
) -> None:
    """Render `campaign` in the format asked for and write it where it was asked for.

    Raises `ReportPathError` where a file cannot be written; an older report is still there then.

    Example::

        write_report(parse_report_option("html:report.html"), load_campaign("report.json"))
    """
    for part in request.parts:
        content = render_report(part.format, campaign, rules, part.table, part.link)
        if part.path is not None:
            write_atomically(part.path, content)
        elif isinstance(content, str):
            sys.stdout.write(content)
        else:
            sys.stdout.flush()
            sys.stdout.buffer.write(content)


def _example(name: str, formats: Sequence[ReportFormat]) -> str:
    shown = name if name in formats else formats[0]
    return f"{shown}:{_file(shown)}"


def _file(format_: str) -> str:
    return f"report.{_SUFFIXES.get(format_, format_)}"
