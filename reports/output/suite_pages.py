"""A test-suite as HTML, as a Markdown page, and as a comment on a pull request."""

from __future__ import annotations

from dataclasses import replace

from markupsafe import Markup

from reports.output import html_page, markdown_page, templating
from reports.output.comment_page import LIMIT, cut_table, first_that_fits, link_to_whole
from reports.output.markdown_text import environment
from reports.rows.suite import SuiteResult
from reports.views.suite_page import SuitePage, SuiteSection, suite_page
from reports.views.texts import cut

# Programs that differ, rows of each table, and characters of a text. The last always fits.
_CUTS = ((300, 60, 500), (100, 20, 300), (50, 10, 200), (20, 5, 150), (10, 3, 100), (3, 1, 60))


def render_html(result: SuiteResult, limit_bytes: int = html_page.LIMIT_BYTES) -> str:
    """Render a suite as one HTML document of at most about `limit_bytes`, without scripts.

    Example::

        Path("suite.html").write_text(render_html(result), encoding="utf-8")
    """
    style = html_page.page_style()
    return templating.fill(
        html_page.environment(),
        "suite.html",
        "suite_program.html",
        suite_page(result),
        limit_bytes,
        style=Markup(style),
        policy=html_page.page_policy((style,), ""),
    )


def render_markdown(result: SuiteResult, limit_bytes: int = markdown_page.LIMIT_BYTES) -> str:
    """Render a suite as Markdown of at most about `limit_bytes`, what differs first.

    Example::

        Path("suite.md").write_text(render_markdown(result), encoding="utf-8")
    """
    page = suite_page(result)
    return templating.fill(environment(), "suite.md", "suite_program.md", page, limit_bytes)


def render_comment(result: SuiteResult, limit: int = LIMIT, *, link: str = "") -> str:
    """Render a suite as Markdown below `limit` bytes, for any number of programs.

    `link` is the address of the whole report; raises `ValueError` where it is not http or https.

    Example::

        len(render_comment(result).encode()) < 65_536
    """
    template, page = environment().get_template("suite_comment.md"), suite_page(result)
    whole = link_to_whole(link)
    cuts = (_cut(page, *to) for to in _CUTS)
    texts = (
        template.render(page=each, whole=whole, left_out=len(page.sections) - len(each.sections))
        for each in cuts
    )
    return first_that_fits(texts, limit)


def _cut(page: SuitePage, sections: int, rows: int, length: int) -> SuitePage:
    return replace(
        page,
        facts=cut(page.facts, 4 * length),
        tables=tuple(cut_table(each, rows, length, "lines") for each in page.tables),
        sections=tuple(_cut_section(each, rows, length) for each in page.sections[:sections]),
    )


def _cut_section(section: SuiteSection, rows: int, length: int) -> SuiteSection:
    return replace(
        section,
        first=cut(section.first, length),
        name=cut(section.name, length),
        source=cut(section.source, length),
        tests=cut(section.tests, length),
        tables=tuple(cut_table(each, rows, length, "lines") for each in section.tables),
    )
