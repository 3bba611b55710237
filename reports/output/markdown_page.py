"""The Markdown report: a step summary, in GitHub's dialect."""

from __future__ import annotations

from reports.output import comment_page, templating
from reports.output.markdown_text import environment
from reports.rows import Campaign
from reports.rows.grid import Grid
from reports.views import page
from reports.views.grid_page import grid_page

# GitHub rejects step summaries above 1 MiB; some of it is left to what else a job writes there.
LIMIT_BYTES = 1000 * 1024


def render(campaign: Campaign, limit_bytes: int = LIMIT_BYTES) -> str:
    """Render the campaign as Markdown of at most about `limit_bytes`.

    What breaks and what costs comes first, by cause; then a table of all programs, and a section
    for each, the worst first. Where programs do not fit, the page says how many were left out.

    Example::

        Path("report.md").write_text(render(campaign), encoding="utf-8")
    """
    head = comment_page.summarised(campaign, "summary_head.md", limit_bytes // 4)
    room = limit_bytes - len(head.encode("utf-8"))
    return head + templating.fill(
        environment(), "report.md", "program.md", page.page(campaign), room
    )


def render_grid(grid: Grid, limit_bytes: int = LIMIT_BYTES) -> str:
    """Render a grid as Markdown of at most about `limit_bytes`, the table of versions first.

    Example::

        Path("grid.md").write_text(render_grid(grid), encoding="utf-8")
    """
    return templating.fill(
        environment(), "grid.md", "grid_program.md", grid_page(grid), limit_bytes
    )
