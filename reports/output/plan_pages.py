"""A planned campaign as HTML, as Markdown, as a comment on a pull request, and as JSON."""

from __future__ import annotations

from dataclasses import replace

from markupsafe import Markup

from reports.output import html_page, markdown_page, templating
from reports.output.comment_page import LIMIT, first_that_fits, link_to_whole
from reports.output.markdown_text import environment
from reports.rows.plan import PlanReport
from reports.views.plan_page import PlanPage, plan_page
from reports.views.texts import cut

# Causes, programs of each, and characters of a text. The last always fits.
_CUTS = ((100, 50, 400), (50, 20, 300), (20, 10, 200), (10, 5, 100), (3, 2, 60))


def render(kind: str, report: PlanReport, link: str = "") -> str:
    """Render a planned campaign in one of the formats html, md, comment and json.

    `link` is the address of the whole report, for comments. Raises `ValueError` for one that is
    neither http nor https.

    Example::

        render("comment", plan_report(Path("runs.db")))
    """
    return render_comment(report, link=link) if kind == "comment" else _RENDERERS[kind](report)


def render_json(report: PlanReport) -> str:
    """Render the record as JSON text.

    Example::

        Path("campaign.json").write_text(render_json(report), encoding="utf-8")
    """
    return report.model_dump_json(indent=1) + "\n"


def render_html(report: PlanReport, limit_bytes: int = html_page.LIMIT_BYTES) -> str:
    """Render as one HTML document of at most about `limit_bytes`, without scripts.

    Example::

        Path("campaign.html").write_text(render_html(report), encoding="utf-8")
    """
    style = html_page.page_style()
    return templating.fill(
        html_page.environment(),
        "plan.html",
        "plan_cause.html",
        plan_page(report),
        limit_bytes,
        style=Markup(style),
        policy=html_page.page_policy((style,), ""),
    )


def render_markdown(report: PlanReport, limit_bytes: int = markdown_page.LIMIT_BYTES) -> str:
    """Render as Markdown of at most about `limit_bytes`, the most severe cause first.

    Example::

        Path("campaign.md").write_text(render_markdown(report), encoding="utf-8")
    """
    page = plan_page(report)
    return templating.fill(environment(), "plan.md", "plan_cause.md", page, limit_bytes)


def render_comment(report: PlanReport, limit: int = LIMIT, *, link: str = "") -> str:
    """Render as Markdown below `limit` bytes, for any number of programs and causes.

    `link` is as in `render`.

    Example::

        len(render_comment(report).encode()) < 65_536
    """
    template, page = environment().get_template("plan_comment.md"), plan_page(report)
    whole = link_to_whole(link)
    cuts = (_cut(page, *to) for to in _CUTS)
    texts = (
        template.render(page=each, left_out=len(page.sections) - len(each.sections), whole=whole)
        for each in cuts
    )
    return first_that_fits(texts, limit)


def _cut(page: PlanPage, causes: int, members: int, length: int) -> PlanPage:
    return replace(
        page,
        lines=tuple(cut(each, 2 * length) for each in page.lines),
        sections=tuple(
            replace(
                each,
                title=cut(each.title, length),
                facts=tuple((word, cut(what, length)) for word, what in each.facts),
                members=tuple(cut(name, length) for name in each.members[:members]),
            )
            for each in page.sections[:causes]
        ),
    )


_RENDERERS = {
    "html": render_html,
    "md": render_markdown,
    "json": render_json,
}
