from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest

from reports.output import html_page

VOID = {"meta", "br", "hr", "img", "link", "input"}
FETCHING = {"src", "srcset", "data", "action", "poster", "background", "style"}


class Page(HTMLParser):
    """Reads a page, insists on balanced tags, and keeps what the tests ask for."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.text = ""
        self.feed(text)
        self.close()
        assert not self.open, f"never closed: {self.open}"

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data

    def values(self, attribute: str) -> list[str]:
        return [value or "" for name, value in self.attributes if name == attribute]


@pytest.fixture
def page(campaigns) -> Page:
    return Page(html_page.render(campaigns.rich()))


def test_tags_are_balanced_even_with_hostile_text(page):
    assert page.tags.count("details") >= 3


@pytest.mark.parametrize("text", ["<p><b></p></b>", "<p>", "</p>"])
def test_the_balance_check_can_fail(text):
    with pytest.raises(AssertionError):
        Page(text)


def test_hostile_text_is_shown_and_never_interpreted(page, campaigns):
    assert "script" not in page.tags
    assert campaigns.HOSTILE in page.text
    # In the name, the source, the summary, a reason, the headline, the message, the traceback...
    assert page.text.count("<script>alert(1)</script>") >= 10
    assert not [name for name, _ in page.attributes if name.startswith("on")]


def test_control_characters_are_spelled_out(page, campaigns):
    assert "signal 11 \\x00\\udc80" in page.text
    assert not re.search("[\x00\x1b\udc80]", html_page.render(campaigns.rich()))


def test_nothing_is_fetched(page, campaigns):
    text = html_page.render(campaigns.rich())
    assert "http://" not in text
    assert "https://" not in text
    assert not re.search(r"@import|url\(", text)
    assert not {"img", "link", "script", "iframe", "object", "embed"} & set(page.tags)
    assert not FETCHING & {name for name, _ in page.attributes}
    assert "default-src 'none'; style-src 'unsafe-inline'" in page.values("content")


def test_links_lead_to_sections_of_the_page(page):
    links, anchors = page.values("href"), page.values("id")
    assert len(links) == 3
    assert {link.removeprefix("#") for link in links} == set(anchors)
    assert len(anchors) == len(set(anchors))


def test_exact_figures_stand_behind_rounded_ones(page):
    titles = page.values("title")
    assert "8,389,512 bytes" in titles
    assert "0.045 s" in titles
    assert "3 const args, 1 unique captured arrays" in titles


def test_what_differs_is_open_and_first_and_parity_is_folded(campaigns):
    text = html_page.render(campaigns.rich())
    programs = re.findall(r'<details class="program"( open)?>\s*<summary><h3>(\w+)', text)
    assert programs == [(" open", "hostile"), (" open", "overwritten_numpy"), ("", "matmul")]


def test_tables_are_accessible(page):
    assert page.tags.count("caption") == page.tags.count("table")
    assert {"col", "row", "colgroup"} == set(page.values("scope"))


def test_the_overview_keeps_its_headings_with_a_single_side(campaigns):
    campaign = campaigns.campaign(campaigns.parity("f", ("legacy",)), sides=("legacy",))
    text = Page(html_page.render(campaign)).text
    assert "StableHLO size" in text
    assert "compile time, ratio to legacy" in text


def test_long_texts_are_cut_with_a_notice(campaigns):
    traceback = "first line\n" + "x" * 100_000 + "\nlast line"
    failed = campaigns.failed("f", "legacy", "exception", traceback=traceback, message="m" * 9000)
    row = campaigns.parity("f").model_copy(update={"observations": (failed,)})
    text = Page(html_page.render(campaigns.campaign(row))).text
    assert len(text) < 40_000
    assert "first line" in text
    assert "last line" in text
    assert "… (94,021 characters left out here; the JSON report has them) …" in text
    assert "… (7,000 more characters)" in text


def test_long_tables_are_cut_with_a_notice_and_keep_the_worst(campaigns):
    leaves = (*[campaigns.leaf(path=f"['x{i}']") for i in range(100)],
              campaigns.leaf("mismatch", path="['bad']"))  # fmt: skip
    equal = [campaigns.comparison(f"metric {i}", "equal") for i in range(100)]
    different = campaigns.comparison("the bad metric", "different", leaves=leaves)
    operations = {f"stablehlo.op{index}": 5 for index in range(50)}
    outputs = tuple(
        campaigns.parity().observations[0].outputs[0].model_copy(update={"path": f"[{index}]"})
        for index in range(100)
    )
    observations = []
    for item in campaigns.parity("f").observations:
        # Every count is equal, but one: it must survive the cut.
        own = {"stablehlo.zz_odd": 2 if item.side == "legacy" else 1}
        stablehlo = item.stablehlo.model_copy(update={"operations_by_name": operations | own})
        observations.append(item.model_copy(update={"stablehlo": stablehlo, "outputs": outputs}))
    row = campaigns.parity("f").model_copy(
        update={"comparisons": (*equal, different), "observations": tuple(observations)}
    )
    text = Page(html_page.render(campaigns.campaign(row))).text
    for kept in ("the bad metric", "['bad']", "stablehlo.zz_odd"):
        assert kept in text
    for notice in (
        "61 more metrics are left out here; the JSON report has them.",
        "61 more output leaves are left out here; the JSON report has them.",
        "60 more outputs are left out here; the JSON report has them.",
        "36 more operations are left out here; the JSON report has them.",
    ):
        assert notice in text


def test_a_page_over_its_limit_is_cut_with_a_notice(campaigns):
    campaign = campaigns.campaign(*[campaigns.parity(f"f{index}") for index in range(30)])
    whole = html_page.render(campaign)
    text = html_page.render(campaign, limit_bytes=len(whole.encode()) // 2)
    assert len(text.encode()) < len(whole.encode()) // 2 + 400  # the notice
    shown = Page(text).tags.count("h3")
    assert 5 < shown < 30
    assert f"The report is cut here: {30 - shown} of 30 programs are left out" in text
    assert "cut here" not in whole


def test_links_to_what_was_cut_lead_to_the_notice(campaigns):
    campaign = campaigns.campaign(*[campaigns.parity(f"f{index}") for index in range(9)])
    whole = html_page.render(campaign)
    page = Page(html_page.render(campaign, limit_bytes=len(whole.encode()) // 2))
    assert {link.removeprefix("#") for link in page.values("href")} == set(page.values("id"))


def test_a_campaign_over_nothing(campaigns):
    page = Page(html_page.render(campaigns.campaign()))
    assert "? could not compare" in page.text
    assert "no program was run" in page.text
