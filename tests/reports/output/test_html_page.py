"""The HTML page: what it says first, its sections, its limits of size."""

from __future__ import annotations

import json
import re

import pytest
from html_pages import Page, unpacked, whole

from reports.output import html_page
from reports.output.html import source_hash

FETCHING = {"src", "srcset", "data", "action", "poster", "background", "style"}


def shown(campaign, **limits) -> Page:
    return Page(whole(html_page.render(campaign, **limits)))


@pytest.fixture
def page(campaigns) -> Page:
    return shown(campaigns.rich())


def test_tags_are_balanced_even_with_hostile_text(page):
    assert page.tags.count("details") >= 3


@pytest.mark.parametrize("text", ["<p><b></p></b>", "<p>", "</p>"])
def test_the_balance_check_can_fail(text):
    with pytest.raises(AssertionError):
        Page(text)


def test_hostile_text_is_shown_and_never_interpreted(page, campaigns):
    assert page.tags.count("script") == 2  # its own, and the columns on request
    assert campaigns.HOSTILE in page.text
    # In the name, the source, the summary, a reason, the headline, the message, the traceback...
    assert page.text.count("<script>alert(1)</script>") >= 10
    assert not [name for name, _ in page.attributes if name.startswith("on")]


def test_control_characters_are_spelled_out(page, campaigns):
    assert "signal 11 \\x00\\udc80" in page.text
    assert not re.search("[\x00\x1b\udc80]", html_page.render(campaigns.rich()))


def test_nothing_is_fetched(page, campaigns):
    text = whole(html_page.render(campaigns.rich()))
    assert "http://" not in text
    assert "https://" not in text
    assert not re.search(r"@import|url\(", text)
    assert not {"img", "link", "iframe", "object", "embed"} & set(page.tags)
    assert not FETCHING & {name for name, _ in page.attributes}


def test_the_policy_allows_its_own_script_and_style_alone(campaigns):
    text = html_page.render(campaigns.rich())
    [policy] = [value for value in Page(text).values("content") if "default-src" in value]
    [script] = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    styles = re.findall(r"<style>(.*?)</style>", text, re.DOTALL)
    assert policy == (
        f"default-src 'none'; style-src {' '.join(map(source_hash, styles))}; "
        f"script-src {source_hash(script)}; "
        "base-uri 'none'; form-action 'none'"
    )


def test_links_lead_to_sections_of_the_page(page):
    links, anchors = page.values("href"), page.values("id")
    assert {link for link in links if link.startswith("#program=")} == {
        f"#{anchor}" for anchor in anchors if anchor.startswith("program=")
    }
    assert len([anchor for anchor in anchors if anchor.startswith("program=")]) == 3
    assert len(anchors) == len(set(anchors))


def test_exact_figures_stand_behind_rounded_ones(page):
    titles = page.values("title")
    assert "8,389,512 bytes" in titles
    assert "0.045 s" in titles
    assert "8.0 MiB before, 817 B after" in titles


def test_the_worst_are_readable_without_a_script_and_the_rest_is_packed(campaigns):
    text = html_page.render(campaigns.rich())
    articles = r'<article class="program" id="program=([^"]+)"'
    assert re.findall(articles, text)[1:] == ["overwritten_numpy"]
    names = re.findall(articles, whole(text))
    assert [name[:7] for name in names] == ["hostile", "overwri", "matmul"]


def test_tables_have_names(page):
    # The two of a program before and after have a label.
    assert page.tags.count("caption") + page.values("class").count("diff") == page.tags.count(
        "table"
    )
    assert {"col", "row"} <= set(page.values("scope"))


def test_columns_on_request_are_packed_with_what_they_are_sorted_by(campaigns):
    text = html_page.render(campaigns.campaign(campaigns.parity("f"), campaigns.difference("g")))
    [data] = re.findall(r'id="extra">([^<]+)<', text)
    extra = json.loads(unpacked(data))
    keys = [key for key, _, _ in extra["columns"]]
    column = keys.index("stablehlo-bytes.jax-legacy")
    failed = keys.index("stablehlo-bytes.jax-simplified")
    assert [row[column] for row in extra["rows"]] == [["8.0 MiB", 8_389_512]] * 2
    assert [row[failed] for row in extra["rows"]] == [["timeout", ""], ["817 B", 817]]


def test_long_texts_are_cut_with_a_notice(campaigns):
    traceback = "first line\n" + "x" * 100_000 + "\nlast line"
    failed = campaigns.failed("f", "legacy", "exception", traceback=traceback, message="m" * 9000)
    row = campaigns.parity("f").model_copy(update={"observations": (failed,)})
    text = shown(campaigns.campaign(row)).text
    assert len(text) < 60_000
    assert "first line" in text
    assert "last line" in text
    assert "… (94,021 characters left out here; the JSON report has them) …" in text
    assert "… (3,000 characters left out here; the JSON report has them) …" in text


def test_long_tables_are_cut_with_a_notice_and_keep_the_worst(campaigns):
    leaves = (*[campaigns.leaf("ulp", path=f"['x{i}']") for i in range(100)],
              campaigns.leaf("mismatch", path="['bad']"))  # fmt: skip
    equal = [campaigns.comparison(f"metric {i}", "equal") for i in range(100)]
    different = campaigns.comparison("the bad metric", "different", leaves=leaves)
    operations = {f"stablehlo.op{index}": 5 for index in range(100)}
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
    sides = ("legacy", "simplified")
    text = shown(campaigns.campaign(row, sides=sides)).text
    for kept in ("the bad metric", "['bad']", "stablehlo.zz_odd"):
        assert kept in text
    for notice in (
        "40 more metrics are left out here; the JSON report has them.",
        "41 more output leaves are left out here; the JSON report has them.",
        "41 more outputs are left out here; the JSON report has them.",
        "41 more operations are left out here; the JSON report has them.",
    ):
        assert notice in text


def test_a_page_over_its_limit_is_cut_with_a_notice(campaigns, monkeypatch):
    monkeypatch.setattr(html_page, "PACK_CHARACTERS", 1)  # a pack for each program
    campaign = campaigns.campaign(*[campaigns.parity(f"f{index}") for index in range(30)])
    text = html_page.render(campaign)
    limit = len(text.encode()) - 30_000
    cut = html_page.render(campaign, limit_bytes=limit)
    assert len(cut.encode()) < limit + 2000  # the notice, and the places that links lead to
    articles = whole(cut).count("<article")
    assert 5 < articles < 30
    assert f"The report is cut here: {30 - articles} of 30 programs are left out" in cut
    assert "cut here" not in text


def test_links_to_what_was_cut_lead_to_the_notice(campaigns, monkeypatch):
    monkeypatch.setattr(html_page, "PACK_CHARACTERS", 1)
    campaign = campaigns.campaign(*[campaigns.parity(f"f{index}") for index in range(9)])
    limit = len(html_page.render(campaign).encode()) - 8_000
    page = shown(campaign, limit_bytes=limit)
    programs = {f"program=f{index}" for index in range(9)}
    assert {link.removeprefix("#") for link in page.values("href")} >= programs
    assert set(page.values("id")) >= programs


def test_a_campaign_over_nothing(campaigns):
    page = shown(campaigns.campaign())
    assert "could not compare" in page.text
    assert "no program was run" in page.text
