"""A test-suite on both sides of stock JAX as HTML, as Markdown, and as a comment."""

from __future__ import annotations

from dataclasses import replace

from markupsafe import Markup

from reports.output import html_page, markdown_page, templating
from reports.output.comment_page import LIMIT, cut_table, first_that_fits, link_to_whole
from reports.output.markdown_text import environment
from reports.rows.suite_runs import SuiteRuns
from reports.views.suite_runs_page import RunsPage, suite_runs_page
from reports.views.texts import cut

# Rows of each table, and characters of a text. The last always fits.
_CUTS = ((200, 500), (100, 300), (50, 200), (20, 150), (10, 100), (1, 60))


def render_html(runs: SuiteRuns, limit_bytes: int = html_page.LIMIT_BYTES) -> str:
    """Render the runs as one HTML document of at most about `limit_bytes`, without scripts.

    Example::

        Path("suite.html").write_text(render_html(runs), encoding="utf-8")
    """
    style = html_page.page_style()
    return templating.fill(
        html_page.environment(),
        "suite_runs.html",
        "suite_runs_test.html",
        suite_runs_page(runs),
        limit_bytes,
        style=Markup(style),
        policy=html_page.page_policy((style,), ""),
    )


def render_markdown(runs: SuiteRuns, limit_bytes: int = markdown_page.LIMIT_BYTES) -> str:
    """Render the runs as Markdown of at most about `limit_bytes`, what differs first.

    Example::

        Path("suite.md").write_text(render_markdown(runs), encoding="utf-8")
    """
    frame, part = "suite_runs.md", "suite_runs_test.md"
    return templating.fill(environment(), frame, part, suite_runs_page(runs), limit_bytes)


def render_comment(runs: SuiteRuns, limit: int = LIMIT, *, link: str = "") -> str:
    """Render the runs as Markdown below `limit` bytes, for any number of tests.

    `link` is the address of the whole report; raises `ValueError` where it is not http or https.

    Example::

        len(render_comment(runs).encode()) < 65_536
    """
    template = environment().get_template("suite_runs_comment.md")
    page, whole = suite_runs_page(runs), link_to_whole(link)
    return first_that_fits(
        (template.render(page=_cut(page, *to), whole=whole) for to in _CUTS), limit
    )


def _cut(page: RunsPage, rows: int, length: int) -> RunsPage:
    return replace(
        page,
        lines=tuple(cut(line, 4 * length) for line in page.lines),
        sides=cut_table(page.sides, rows, length, "sides"),
        tables=tuple(cut_table(each, rows, length, "tests") for each in page.tables),
    )
