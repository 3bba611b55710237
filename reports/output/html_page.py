"""The HTML report: one file that needs nothing else, for reading and for sending around."""

from __future__ import annotations

from functools import cache

from jinja2 import Environment

from reports.output import templating
from reports.rows import Campaign
from reports.rows.grid import Grid
from reports.views import page
from reports.views.grid_page import grid_page
from reports.views.texts import visible

LIMIT_BYTES = 8 * 1024 * 1024  # browsers stay quick, and mail and issue attachments take it


def render(campaign: Campaign, limit_bytes: int = LIMIT_BYTES) -> str:
    """Render the campaign as one HTML document of at most about `limit_bytes`, without scripts.

    Where programs do not fit, the page says how many were left out.

    Example::

        Path("report.html").write_text(render(campaign), encoding="utf-8")
    """
    return templating.fill(
        _environment(), "report.html", "program.html", page.page(campaign), limit_bytes
    )


def render_grid(grid: Grid, limit_bytes: int = LIMIT_BYTES) -> str:
    """Render a grid as one HTML document of at most about `limit_bytes`, without scripts.

    Example::

        Path("grid.html").write_text(render_grid(grid), encoding="utf-8")
    """
    return templating.fill(
        _environment(), "grid.html", "grid_program.html", grid_page(grid), limit_bytes
    )


@cache
def _environment() -> Environment:
    return templating.environment(finalize=_finalize)


def _finalize(value: object) -> object:
    # Text from a template is Markup, a str too; `visible` must not undo that.
    return visible(value) if type(value) is str else value
