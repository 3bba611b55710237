"""The formats of a report, and the one parser of the option that asks for them."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from reports import html_report, json_report, markdown_report
from reports.rows import Campaign
from reports.writing import write_atomically

ReportFormat = Literal["json", "md", "html"]
FORMATS: tuple[ReportFormat, ...] = get_args(ReportFormat)

_RENDERERS: dict[ReportFormat, Callable[[Campaign], str]] = {
    "json": json_report.render,
    "md": markdown_report.render,
    "html": html_report.render,
}


@dataclass(frozen=True)
class ReportRequest:
    """A report that somebody asked for: in which format, and where.

    Example:
        >>> ReportRequest("md", Path("report.md")).path.name
        'report.md'
    """

    format: ReportFormat
    path: Path


def parse_report_option(option: str) -> ReportRequest:
    """The request that an option such as `html:out/report.html` makes.

    Raises:
        ValueError: the format is not one of `FORMATS`, or the path is missing or names a folder.

    Example:
        >>> parse_report_option("html:out/report.html").format
        'html'
        >>> parse_report_option("report.html")
        Traceback (most recent call last):
        ...
        ValueError: illegal report 'report.html': it must be FORMAT:PATH with FORMAT one of json, \
md, html, for example html:report.html
    """
    name, separator, path = option.partition(":")
    legal = {format_: format_ for format_ in FORMATS}
    if name not in legal or not separator or not path:
        raise ValueError(
            f"illegal report {option!r}: it must be FORMAT:PATH with FORMAT one of "
            f"{', '.join(FORMATS)}, for example {_example(name)}"
        )
    if path.endswith(("/", os.sep)):
        raise ValueError(
            f"illegal report {option!r}: the path names a folder; name a file in it, for example "
            f"{name}:{path}report.{name}"
        )
    # The shell does not expand the ~ in html:~/report.html, and a folder called ~ is a trap.
    return ReportRequest(legal[name], Path(os.path.expanduser(path)))


def write_report(request: ReportRequest, campaign: Campaign) -> None:
    """Render `campaign` in the format asked for and write it where it was asked for.

    Raises:
        ReportPathError: the file cannot be written; what was there before is still there.

    Example:
        `write_report(parse_report_option("html:report.html"), load_campaign("report.json"))`
    """
    write_atomically(request.path, _RENDERERS[request.format](campaign))


def _example(name: str) -> str:
    return f"{name}:report.{name}" if name in FORMATS else "html:report.html"
