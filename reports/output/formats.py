"""The formats of a report, and the one parser of the option that asks for them."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from reports.output import html_page, json_file, markdown_page
from reports.output.files import write_atomically
from reports.rows import Campaign

ReportFormat = Literal["json", "md", "html", "svg"]
_RENDERERS: dict[ReportFormat, Callable[[Campaign], str]] = {
    "json": json_file.render,
    "md": markdown_page.render,
    "html": html_page.render,
}
FORMATS: tuple[ReportFormat, ...] = tuple(_RENDERERS)  # of a campaign


@dataclass(frozen=True)
class ReportRequest:
    """A report that somebody asked for: in which format, and where.

    Example::

        >>> ReportRequest("md", Path("report.md")).path.name
        'report.md'
    """

    format: ReportFormat
    path: Path


def parse_report_option(option: str, formats: Sequence[ReportFormat] = FORMATS) -> ReportRequest:
    """Parse an option such as `html:out/report.html` into the request that it makes.

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
    if path.endswith(("/", os.sep)):
        raise ValueError(
            f"illegal report {option!r}: the path names a folder; name a file in it, for example "
            f"{name}:{path}report.{name}"
        )
    # The shell does not expand the ~ in html:~/report.html, and a folder called ~ is a trap.
    return ReportRequest(legal[name], Path(os.path.expanduser(path)))


def write_report(request: ReportRequest, campaign: Campaign) -> None:
    """Render `campaign` in the format asked for and write it where it was asked for.

    Raises `ReportPathError` where the file cannot be written; an older report is still there then.

    Example::

        write_report(parse_report_option("html:report.html"), load_campaign("report.json"))
    """
    write_atomically(request.path, _RENDERERS[request.format](campaign))


def _example(name: str, formats: Sequence[ReportFormat]) -> str:
    shown = name if name in formats else formats[-1]
    return f"{shown}:report.{shown}"
