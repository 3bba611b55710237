"""The formats of a report, and the one parser of the option that asks for them."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from reports.output import comment_page, html_page, json_file, junit_file, markdown_page
from reports.output.files import as_bytes, write_atomically
from reports.rows import Campaign
from reports.rows.fail_rules import DEFAULT_RULES, FailRule
from reports.rows.grid import Grid

ReportFormat = Literal["html", "md", "comment", "junit", "json", "svg"]
Content = str | bytes  # text is written as UTF-8

_OF_CAMPAIGNS: dict[ReportFormat, Callable[[Campaign, Sequence[FailRule]], Content]] = {
    "html": lambda campaign, _: html_page.render(campaign),
    "md": lambda campaign, _: markdown_page.render(campaign),
    "comment": lambda campaign, _: comment_page.render(campaign),
    "junit": junit_file.render,
    "json": lambda campaign, _: json_file.render(campaign),
}
_OF_GRIDS: dict[ReportFormat, Callable[[Grid, Sequence[FailRule]], Content]] = {
    "html": lambda grid, _: html_page.render_grid(grid),
    "md": lambda grid, _: markdown_page.render_grid(grid),
    "comment": lambda grid, _: comment_page.render_grid(grid),
    "junit": junit_file.render_grid,
    "json": lambda grid, _: json_file.render_grid(grid),
}
FORMATS: tuple[ReportFormat, ...] = tuple(_OF_CAMPAIGNS)
GRID_FORMATS: tuple[ReportFormat, ...] = tuple(_OF_GRIDS)
# The names that files of a format usually end in, where that is not the name of the format.
_SUFFIXES: dict[str, str] = {"comment": "md", "junit": "xml"}


@dataclass(frozen=True)
class ReportRequest:
    """A report that somebody asked for: in which format, and where.

    `path` is None for standard output.

    Example::

        >>> str(ReportRequest("md", Path("report.md")))
        'md:report.md'
    """

    format: ReportFormat
    path: Path | None

    def __str__(self) -> str:
        return f"{self.format}:{self.path or '-'}"


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


def check_for_grids(requests: Sequence[ReportRequest]) -> None:
    """Make sure that a grid has the format of each request. Raises `ValueError`.

    Example::

        check_for_grids([parse_report_option("html:report.html")])
    """
    for request in requests:
        if request.format not in GRID_FORMATS:
            raise ValueError(
                f"illegal report '{request}': several versions of JAX are one grid, and the "
                f"formats of a grid are {', '.join(GRID_FORMATS)}"
            )


def render_report(
    format_: ReportFormat, campaign: Campaign, rules: Sequence[FailRule] = DEFAULT_RULES
) -> Content:
    """Render `campaign` in a format; a program that breaks one of `rules` fails in JUnit.

    Example::

        render_report("md", load_campaign("report.json")).startswith("# constparity")
    """
    return _OF_CAMPAIGNS[format_](campaign, rules)


def render_grid(
    format_: ReportFormat, grid: Grid, rules: Sequence[FailRule] = DEFAULT_RULES
) -> Content:
    """Render a grid in a format, as `render_report` does.

    Example::

        render_grid("md", load_grid("grid.json")).startswith("# constparity")
    """
    return _OF_GRIDS[format_](grid, rules)


def write_report(
    request: ReportRequest, campaign: Campaign, rules: Sequence[FailRule] = DEFAULT_RULES
) -> None:
    """Render `campaign` in the format asked for and write it where it was asked for.

    Raises `ReportPathError` where the file cannot be written; an older report is still there then.

    Example::

        write_report(parse_report_option("html:report.html"), load_campaign("report.json"))
    """
    content = render_report(request.format, campaign, rules)
    if request.path is not None:
        write_atomically(request.path, content)
    else:
        sys.stdout.flush()
        sys.stdout.buffer.write(as_bytes(content))


def _example(name: str, formats: Sequence[ReportFormat]) -> str:
    shown = name if name in formats else formats[0]
    return f"{shown}:{_file(shown)}"


def _file(format_: str) -> str:
    return f"report.{_SUFFIXES.get(format_, format_)}"
