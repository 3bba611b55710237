"""Templates filled with a page, up to a size: what does not fit is left out and counted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

import reports

_TEMPLATES = Path(reports.__file__).parent / "templates"


class Sectioned(Protocol):
    """A page, whatever it is about: a frame, and sections of which some may be left out."""

    @property
    def sections(self) -> Sequence[object]:
        """The sections, in the order in which they are shown."""


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


def fill(
    environment: Environment,
    frame: str,
    part: str,
    page: Sectioned,
    limit_bytes: int,
    **context: object,
) -> str:
    """Fill the template `frame` with as many sections, by the template `part`, as fit.

    They fit within `limit_bytes` of UTF-8. The page without its sections always comes; the caps in
    `reports.views` bound its size. `context` has further names for `frame`.
    """
    whole, program = environment.get_template(frame), environment.get_template(part)

    def text(sections: list[Markup]) -> str:
        left_out = len(page.sections) - len(sections)
        return whole.render(page=page, sections=sections, left_out=left_out, **context)

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
