"""Templates filled with a page, up to a size: what does not fit is left out and counted."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

import reports
from reports.views.page import Page

_TEMPLATES = Path(reports.__file__).parent / "templates"


def environment(finalize: Callable[[object], object]) -> Environment:
    """Make templates in which every expression passes through `finalize` and is then escaped.

    Nothing reaches a page past these two, so a template cannot forget to escape; what `finalize`
    returns as Markup is escaped already. An unknown name in a template is an error.
    """
    return Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        finalize=finalize,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )


def fill(environment: Environment, suffix: str, page: Page, limit_bytes: int) -> str:
    """Fill `report.<suffix>` with as many `program.<suffix>` as fit within `limit_bytes` of UTF-8.

    The page without its programs always comes; the caps in `reports.views.page` bound its size.
    """
    frame = environment.get_template(f"report.{suffix}")
    program = environment.get_template(f"program.{suffix}")

    def text(sections: list[Markup]) -> str:
        left_out = len(page.sections) - len(sections)
        return frame.render(page=page, sections=sections, left_out=left_out)

    room = limit_bytes - _size(text([]))
    sections: list[Markup] = []
    for section in page.sections:
        rendered = program.render(section=section)
        room -= _size(rendered)
        if room < 0:
            break
        # The text of a template whose expressions were all escaped.
        sections.append(Markup(rendered))
    return text(sections)


def _size(text: str) -> int:
    return len(text.encode("utf-8"))
