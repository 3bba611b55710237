"""The formats of a report, and the one parser of the option that asks for them."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from reports.output import html_page, json_file, markdown_page
from reports.output.files import write_atomically
from reports.rows import Campaign
from reports.rows.grid import Grid

ReportFormat = Literal["json", "md", "html", "svg", "sarif"]
_RENDERERS: dict[ReportFormat, Callable[[Campaign], str]] = {
    "json": json_file.render,
    "md": markdown_page.render,
    "html": html_page.render,
}
_OF_GRIDS: dict[ReportFormat, Callable[[Grid], str]] = {
    "json": json_file.render_grid,
    "md": markdown_page.render_grid,
    "html": html_page.render_grid,
}
FORMATS: tuple[ReportFormat, ...] = tuple(_RENDERERS)  # of a campaign, and of a grid


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
        >>> parse_report_option("report.html")
        Traceback (most recent call last):
        ...
        ValueError: illegal report 'report.html': it must be FORMAT:PATH with FORMAT one of json, \
md, html, for example html:report.html
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
            f"{name}:{path}report.{name}"
        )
    # The shell does not expand the ~ in html:~/report.html, and a folder called ~ is a trap.
    return ReportRequest(legal[name], Path(os.path.expanduser(path)))


def render_report(format_: ReportFormat, campaign: Campaign) -> str:
    """Render `campaign` in a format.

    Example::

        render_report("md", load_campaign("report.json")).startswith("# constparity")
    """
    return _RENDERERS[format_](campaign)


def render_grid(format_: ReportFormat, grid: Grid) -> str:
    """Render a grid in a format.

    Example::

        render_grid("md", load_grid("grid.json")).startswith("# constparity")
    """
    return _OF_GRIDS[format_](grid)


def write_report(request: ReportRequest, campaign: Campaign) -> None:
    """Render `campaign` in the format asked for and write it where it was asked for.

    Raises `ReportPathError` where the file cannot be written; an older report is still there then.

    Example::

        write_report(parse_report_option("html:report.html"), load_campaign("report.json"))
    """
    text = render_report(request.format, campaign)
    if request.path is None:
        sys.stdout.write(text)
    else:
        write_atomically(request.path, text)


def _example(name: str, formats: Sequence[ReportFormat]) -> str:
    shown = name if name in formats else formats[-1]
    return f"{shown}:report.{shown}"
