"""The link from a comment to the whole report: http and https alone; nothing breaks out of it."""

import built_grids
import pytest

from reports import render_grid, render_report
from reports.output.comment import checked_link, markdown_link


@pytest.mark.parametrize(
    "address",
    [
        "https://ci.example.org/job/7/report.html#verdict=different",
        "http://127.0.0.1:8000/a_(b)?c=d&e=%20*",
        "HTTPS://[::1]/report.html",
    ],
)
def test_addresses_that_are_links(address):
    assert checked_link(address) == address


@pytest.mark.parametrize(
    ("address", "why"),
    [
        ("", "must begin with https"),
        ("javascript:alert(1)", "must begin with https"),
        ("file:///etc/passwd", "must begin with https"),
        ("//example.org/report.html", "must begin with https"),
        (" https://example.org", "must begin with https"),
        ("https:///report.html", "names no host"),
        ("https://example.org/a b", "%20"),
        ("https://example.org/>) <script>", "%20"),
        ("https://example.org/a\nb", "%20"),
        ("https://example.org/\N{PILE OF POO}", "%20"),
        ("https://[example.org/", "illegal link"),
        ("https://example.org/" + "a" * 2_000, "longer than"),
    ],
)
def test_others_are_refused_with_the_reason(address, why):
    with pytest.raises(ValueError, match="illegal link") as raised:
        checked_link(address)
    assert why in str(raised.value)


def test_entities_in_an_address_stay_what_they_are():
    link = markdown_link("Report", "https://example.org/?a=1&copy;=2")
    assert link == "[Report](<https://example.org/?a=1&amp;copy;=2>)"


def test_a_comment_links_to_the_whole_report(campaigns):
    address = "https://ci.example.org/a_b~c/report.html?x=*y*&z=@me#1"
    text = render_report("comment", campaigns.rich(), link=address)
    shown = address.replace("&", "&amp;")
    assert f"\n- [The whole report](<{shown}>) has all of it.\n" in text
    assert "The whole report" not in render_report("comment", campaigns.rich())
    of_a_grid = render_grid("comment", built_grids.rich(), link=address)
    assert f"\n- [The whole report](<{shown}>) has" in of_a_grid
    with pytest.raises(ValueError, match="illegal link"):
        render_report("comment", campaigns.rich(), link="ftp://example.org")
