"""Options of reports name a format and a path, and each format is written by its renderer."""

from __future__ import annotations

from dataclasses import FrozenInstanceError
from pathlib import Path

import pytest

from reports import FORMATS, ReportRequest, load_campaign, parse_report_option, write_report


@pytest.mark.parametrize("name", ["json", "md", "html"])
def test_legal_formats(name):
    assert parse_report_option(f"{name}:out/r.x") == ReportRequest(name, Path("out/r.x"))


def test_only_the_first_colon_separates():
    assert parse_report_option("md:C:/out/r.md").path == Path("C:/out/r.md")


def test_the_home_folder_is_expanded(monkeypatch):
    monkeypatch.setenv("HOME", "/home/somebody")
    assert parse_report_option("md:~/r.md").path == Path("/home/somebody/r.md")


@pytest.mark.parametrize(
    ("option", "example"),
    [
        ("pdf:report.pdf", "html:report.html"),
        ("HTML:report.html", "html:report.html"),
        ("report.html", "html:report.html"),
        ("", "html:report.html"),
        ("json", "json:report.json"),
        ("json:", "json:report.json"),
    ],
)
def test_illegal_options_list_the_legal_ones(option, example):
    with pytest.raises(ValueError, match="illegal report") as raised:
        parse_report_option(option)
    assert str(raised.value) == (
        f"illegal report {option!r}: it must be FORMAT:PATH with FORMAT one of "
        f"{', '.join(FORMATS)}, for example {example}"
    )


def test_a_path_that_names_a_folder():
    with pytest.raises(ValueError, match=r"for example md:out/report\.md"):
        parse_report_option("md:out/")


def test_a_request_is_frozen():
    request = parse_report_option("md:r.md")
    with pytest.raises(FrozenInstanceError):
        request.path = Path("elsewhere")  # type: ignore[misc]


@pytest.mark.parametrize(
    ("name", "start"), [("html", "<!DOCTYPE html>"), ("md", "# constparity: flip: not known")]
)
def test_each_format_is_written_by_its_renderer(name, start, tmp_path, campaigns):
    write_report(parse_report_option(f"{name}:{tmp_path}/deep/report"), campaigns.rich())
    assert (tmp_path / "deep" / "report").read_text(encoding="utf-8").startswith(start)


def test_a_written_json_report_loads(tmp_path, campaigns):
    campaign = campaigns.campaign(campaigns.parity())
    write_report(parse_report_option(f"json:{tmp_path}/report.json"), campaign)
    assert load_campaign(tmp_path / "report.json") == campaign
