"""The Markdown report: for step summaries and comments, in GitHub's dialect."""

from __future__ import annotations

import re
from functools import cache

from jinja2 import Environment
from markupsafe import Markup

from reports.output import templating
from reports.rows import Campaign
from reports.rows.grid import Grid
from reports.views import page
from reports.views.grid_page import grid_page
from reports.views.texts import visible

# GitHub rejects step summaries above 1 MiB; some of it is left to what else a job writes there.
LIMIT_BYTES = 1000 * 1024

_ENTITIES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})
# An underscore between letters is text in GitHub's dialect, and names are full of them.
_SPECIAL = re.compile(r"[\\`*\[|~$]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])")


def render(campaign: Campaign, limit_bytes: int = LIMIT_BYTES) -> str:
    """Render the campaign as Markdown of at most about `limit_bytes`, the verdicts first.

    Where programs do not fit, the page says how many were left out.

    Example::

        Path("report.md").write_text(render(campaign), encoding="utf-8")
    """
    return templating.fill(
        _environment(), "report.md", "program.md", page.page(campaign), limit_bytes
    )


def render_grid(grid: Grid, limit_bytes: int = LIMIT_BYTES) -> str:
    """Render a grid as Markdown of at most about `limit_bytes`, the table of versions first.

    Example::

        Path("grid.md").write_text(render_grid(grid), encoding="utf-8")
    """
    return templating.fill(
        _environment(), "grid.md", "grid_program.md", grid_page(grid), limit_bytes
    )


def escape(text: str) -> str:
    r"""Escape `text` as Markdown that shows it, whatever it holds, on one line in one table cell.

    It is not safe at the beginning of a line, where `#` and `-` have a meaning; no template puts
    it there.

    Example::

        >>> escape("a|b\n<script> `x` rank_4 __init__")
        'a\\|b<br>&lt;script&gt; \\`x\\` rank_4 \\_\\_init\\_\\_'
    """
    text = visible(text).strip("\n").translate(_ENTITIES)
    return _SPECIAL.sub(lambda match: "\\" + match[0], text).replace("\n", "<br>")


def fenced(text: str) -> Markup:
    """Fence `text` as a code block that nothing in it can close.

    Example::

        >>> print(fenced("a\\n```"))
        ````text
        a
        ```
        ````
    """
    text = visible(text).strip("\n")
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return Markup(f"{fence}text\n{text}\n{fence}")


@cache
def _environment() -> Environment:
    environment = templating.environment(finalize=_finalize)
    environment.filters["fenced"] = fenced
    return environment


def _finalize(value: object) -> Markup:
    # Returned as Markup, so that HTML escaping does not come on top; templates must not print
    # anything that is Markup for another reason.
    return value if isinstance(value, Markup) else Markup(escape(str(value)))
