import io

import pytest
from rich.console import Console

from parity_tests.cli import terminal


def printed(campaign, *names):
    rows = tuple(row for row in campaign.programs if row.name in names)
    console = Console(file=io.StringIO(), width=140)
    terminal.print_campaign(console, campaign.model_copy(update={"programs": rows}))
    return console.file.getvalue()


def cells(text, name):
    [line] = [line for line in text.splitlines() if line.startswith(f"│{name} ")]
    return [cell.strip() for cell in line.strip("│").split("│")]


def test_a_row_has_verdict_rung_and_figures(faults):
    text = printed(faults, "good", "other_value")
    name, verdict, flip, rung, size, const_args, unique = cells(text, "good")
    assert (name, verdict, flip, rung) == ("good", "parity", "safe", "bitwise")
    assert (const_args, unique) == ("- / 1", "1")
    legacy, simplified = (int(part.replace(",", "")) for part in size.split(" / "))
    assert legacy > simplified > 0
    assert cells(text, "other_value")[1:4] == ["difference", "different", "mismatch"]


def test_a_side_that_failed_has_no_figures(faults):
    assert cells(printed(faults, "raises"), "raises")[3:] == ["-", "- / -", "- / -", "-"]


@pytest.mark.parametrize("variable", ["FORCE_COLOR", "TTY_COMPATIBLE"])
def test_a_pipe_is_wide_also_where_it_is_coloured(variable, monkeypatch):
    monkeypatch.setattr("sys.stdout", io.StringIO())
    assert terminal.console().width == 140
    monkeypatch.setenv(variable, "1")
    assert (terminal.console().is_terminal, terminal.console().width) == (True, 140)
    monkeypatch.setenv("COLUMNS", "100")
    assert terminal.console().width == 100


@pytest.mark.parametrize("coloured", [False, True])
def test_a_pipe_gets_every_tenth_step_on_a_line_of_its_own(coloured):
    console = Console(file=io.StringIO(), width=140, force_terminal=coloured)
    with terminal.progress(console) as advance:
        for done in range(41):
            advance(done, 40, "legacy: p")
    assert console.file.getvalue().split() == [f"{done}/40" for done in range(4, 41, 4)]
