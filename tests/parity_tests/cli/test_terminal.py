import io

import pytest
from rich.console import Console

from parity_tests.cli import terminal


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


def test_what_takes_hours_has_a_line_with_its_text_now_and_then():
    console = Console(file=io.StringIO(), width=40)
    with terminal.progress(console, every=0.0) as advance:
        for done in (300, 600, 900, 1000):
            advance(done, 1000, f"{done // 10} a minute, 2 min left; 1 breaks, 2 lost")
    assert console.file.getvalue().splitlines() == [
        "300/1,000: 30 a minute, 2 min left; 1 breaks, 2 lost",
        "600/1,000: 60 a minute, 2 min left; 1 breaks, 2 lost",
        "900/1,000: 90 a minute, 2 min left; 1 breaks, 2 lost",
        "1,000/1,000: 100 a minute, 2 min left; 1 breaks, 2 lost",
    ]


def test_a_line_does_not_come_sooner_than_asked_but_the_last_one():
    console = Console(file=io.StringIO(), width=40)
    with terminal.progress(console, every=3600.0) as advance:
        advance(1, 2, "not yet")
        advance(2, 2, "all")
    assert console.file.getvalue() == "2/2: all\n"
