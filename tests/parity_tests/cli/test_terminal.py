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
