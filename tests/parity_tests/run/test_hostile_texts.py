"""A report shows text: no exception, name or path changes what it looks like, or is lost."""

import json
import re

import pytest
from html_pages import whole
from program_files import line_with, program_file
from rich.console import Console

import reports
from parity_tests.cli import explain_view, run_view, terminal
from parity_tests.run import run
from parity_tests.run.options import CampaignOptions

FILE = program_file("trust/hostile_texts")
SHOWN = "tests/programs/trust/hostile_texts.py"
# A newline and a tab are text.
CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")


@pytest.fixture(scope="module")
def campaign():
    options = CampaignOptions(sides=("jax-legacy", "jax-simplified"), timeout=60.0, steady_calls=0)
    return run.run([str(FILE)], options)


@pytest.fixture(scope="module")
def rows(campaign):
    return {row.name: row for row in campaign.programs}


def printed(show, campaign):
    console = terminal.PlainConsole(width=300, force_terminal=False)
    with console.capture() as captured:
        show(console, campaign)
    return captured.get()


@pytest.mark.parametrize(
    ("name", "said", "text"),
    [
        ("text_cannot_be_read", "UnreadableError: its text could not be read", "raise error"),
        ("escape_sequences", "ValueError: \x1b[2J", "raise error"),
        ("of_several_lines", "ValueError: first (", "raise error"),
        ("raised_by_jax", "TypeError: dot_general requires", "# JAX raises here"),
    ],
)
def test_a_failure_names_the_exception_and_the_users_line(rows, name, said, text):
    [reason] = rows[name].reasons
    assert said in reason
    assert reason.endswith(f" ({SHOWN}:{line_with(FILE, text)})")
    assert rows[name].observations[1].failure.traceback


def test_a_terminal_shows_text(campaign):
    for show in (run_view.print_campaign, explain_view.print_explanation):
        out = printed(show, campaign)
        assert not CONTROL.search(out)
        assert ":100: [red]name[/]" in out
        assert "\N{HUNDRED POINTS SYMBOL}" not in out
    assert "\\x9b31m :100: [bold]x[/]" in printed(run_view.print_campaign, campaign)


def test_a_plain_console_of_rich_would_not(campaign):
    assert Console().render_str(":100:").plain == "\N{HUNDRED POINTS SYMBOL}"
    assert CONTROL.search(Console().render_str("\x1b[2J").plain)


def test_files_show_text(campaign):
    for format_ in ("html", "md", "json"):
        assert not CONTROL.search(whole(reports.render_report(format_, campaign)))


def test_the_json_has_every_character(campaign, tmp_path):
    reports.write_report(reports.parse_report_option(f"json:{tmp_path / 'a.json'}"), campaign)
    assert reports.load_campaign(tmp_path / "a.json") == campaign
    programs = json.loads((tmp_path / "a.json").read_text())["programs"]
    assert "\x1b[2J\x1b[1mgone\x07\x9b31m" in programs[1]["reasons"][0]
