"""The one template of pages: every part is there, escaped, and nothing is fetched or executed."""

import re

import built_documents as built
import pytest
from html_pages import Page

from reports.document import Sections
from reports.output import html
from tests.helpers.built_grids import HOSTILE


@pytest.fixture(scope="module")
def page():
    return Page(html.render(built.every_part(HOSTILE)))


def test_every_text_is_shown_and_none_is_interpreted(page):
    assert "script" not in page.tags
    plain = Page(html.render(built.every_part("a plain text")))
    assert page.text.count("<script>alert(1)</script>") == plain.text.count("a plain text") == 68
    shown_when_pointed_at = [each for each in page.values("title") if "<script>" in each]
    assert len(shown_when_pointed_at) == plain.values("title").count("a plain text")
    assert not [name for name, _ in page.attributes if name.startswith("on")]
    assert not re.search("[\x00\x1b]", page.text)


def test_links_lead_to_their_section_or_to_the_reason_that_it_is_not_there():
    sections = Sections(tuple(built.section("x" * 3000, number) for number in range(9)), "programs")
    links = built.table()
    text = html.render(built.of(links, sections), limit_bytes=60_000)
    page = Page(text)
    assert re.search(r"The report is cut here: \d more programs are left out here", page.text)
    assert {f"section-{number}" for number in range(9)} <= set(page.values("id"))


def test_nothing_is_fetched_and_the_policy_allows_the_style_alone(page):
    text = html.render(built.every_part("t"))
    [style] = re.findall(r"<style>(.*?)</style>", text, re.DOTALL)
    [policy] = [each for each in page.values("content") if "default-src" in each]
    assert policy == (
        f"default-src 'none'; style-src {html.source_hash(style)}; base-uri 'none'; "
        "form-action 'none'"
    )
    assert not {"src", "style", "action"} & {name for name, _ in page.attributes}


def test_what_is_bad_is_open_and_long_parts_are_folded():
    page = Page(html.render(built.every_part("t")))
    opened = [name for name, _ in page.attributes if name == "open"]
    assert (page.tags.count("details"), len(opened)) == (6, 1)
