"""The report as a comment on a pull request, which GitHub refuses above 65,536 characters."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from markupsafe import Markup

from reports.output.links import markdown_link
from reports.output.markdown_text import environment
from reports.rows import Campaign
from reports.rows.grid import Grid
from reports.views.cells import Cell, Table
from reports.views.grid_page import GridPage, grid_page
from reports.views.summary import Caps, summary
from reports.views.texts import cut, more

# In characters, and in bytes for the services that count these. What a workflow adds has room, too.
LIMIT = 64_000

# The first that fits is taken; the last fits whatever the texts are.
_CAPS = (
    Caps(groups=200, members=1000, text=300),
    Caps(groups=100, members=50, text=300),
    Caps(groups=50, members=10, text=200),
    Caps(groups=25, members=5, text=200),
    Caps(groups=10, members=3, text=200),
    Caps(groups=10, members=0, text=100),
    Caps(groups=3, members=0, text=60),
)
# Rows of the table of programs, and characters of a cell.
_CUTS_OF_GRIDS = ((1000, 200), (200, 200), (50, 150), (10, 100), (0, 30))
_MOST_VERSIONS = 15
_MOST_LINES = 5


def render(campaign: Campaign, limit: int = LIMIT, *, link: str = "") -> str:
    """Render the campaign as Markdown below `limit` bytes, for any number of programs.

    What breaks comes first, then what costs; programs without a finding are one line. The comment
    says how many programs it does not name. `link` is the address of the whole report; raises
    `ValueError` where it is not one of http or https.

    Example::

        len(render(campaign).encode()) < 65_536
    """
    return summarised(campaign, "comment.md", limit, whole=link_to_whole(link))


def summarised(campaign: Campaign, template: str, limit: int, **context: object) -> str:
    """Fill a template with the summary of a campaign that names most and stays below `limit` bytes.

    `context` has further names for the template.

    Example::

        summarised(campaign, "comment.md", limit=1000)
    """
    filled = environment().get_template(template)
    return first_that_fits(
        (filled.render(page=summary(campaign, caps), **context) for caps in _CAPS), limit
    )


def render_grid(grid: Grid, limit: int = LIMIT, *, link: str = "") -> str:
    """Render a grid as Markdown below `limit` bytes: its answers, and the programs that change.

    `link` is as in `render`.

    Example::

        len(render_grid(grid).encode()) < 65_536
    """
    template, page = environment().get_template("grid_comment.md"), grid_page(grid)
    whole = link_to_whole(link)
    return first_that_fits(
        (template.render(page=_cut(page, *to), whole=whole) for to in _CUTS_OF_GRIDS), limit
    )


def link_to_whole(link: str) -> Markup | str:
    """Return the link to the whole report; "" without one."""
    return markdown_link("The whole report", link) if link else ""


def first_that_fits(texts: Iterable[str], limit: int) -> str:
    """Return the first text below `limit` bytes, else the last; no more are made than needed.

    Example::

        first_that_fits(["a long text", "short"], limit=8) == "short"
    """
    text = ""
    for text in texts:
        if len(text.encode("utf-8")) < limit:
            break
    return text


def _cut(page: GridPage, rows: int, length: int) -> GridPage:
    return replace(
        page,
        lines=tuple(cut(line, 4 * length) for line in page.lines[:_MOST_LINES]),
        versions=cut_table(page.versions, _MOST_VERSIONS, length, "versions"),
        grid=cut_table(page.grid, rows, length, "lines"),
    )


def cut_table(table: Table, rows: int, length: int, what: str) -> Table:
    """Return the first rows of a table, and say how many there are beside them.

    Example::

        cut_table(table, rows=10, length=200, what="programs")
    """
    cells = tuple(
        tuple(Cell(cut(cell.text, length), tone=cell.tone) for cell in row)
        for row in table.rows[:rows]
    )
    left = len(table.rows) - rows
    notice = more(left, what) if left > 0 else table.notice
    return replace(table, rows=cells, notice=notice)
