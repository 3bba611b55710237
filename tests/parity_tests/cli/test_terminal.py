"""The terminal: widths, colours, progress with the time that is left, texts spelled out."""

import contextlib
import io
import os
import pty
import re
import threading
import time
import types

import pytest
from rich.console import Console

from parity_tests.cli import app, terminal
from parity_tests.experiments import in_worker


@pytest.mark.parametrize("variable", ["FORCE_COLOR", "TTY_COMPATIBLE"])
def test_a_pipe_is_wide_also_where_it_is_coloured(variable, monkeypatch):
    monkeypatch.setattr("sys.stdout", io.StringIO())
    assert terminal.console().width == 140
    monkeypatch.setenv(variable, "1")
    assert (terminal.console().is_terminal, terminal.console().width) == (True, 140)
    monkeypatch.setenv("COLUMNS", "100")
    assert terminal.console().width == 100


@pytest.mark.parametrize("coloured", [False, True])
def test_a_pipe_gets_each_step_with_its_text_on_a_line_of_its_own(coloured):
    console = Console(file=io.StringIO(), width=10, force_terminal=coloured)
    with terminal.progress(console, first="loading the programs") as advance:
        advance(0, 2, "")
        advance(1, 2, "legacy: my_model.py:step")
        advance(1, 2, "simplified: my_model.py:step: compile")  # it takes long
        advance(2, 2, "simplified: my_model.py:step")
        advance(2, 2, "")
        advance(0, 0, "step: compiling")
        advance(0, 3, "round\n1")
    assert console.file.getvalue().splitlines() == [
        "1/2 legacy: my_model.py:step",
        "1/2 simplified: my_model.py:step: compile",
        "2/2 simplified: my_model.py:step",
        "step: compiling",
        "0/3 round\\n1",
    ]


def test_a_pipe_gets_a_fortieth_of_many_steps():
    console = Console(file=io.StringIO(), width=140)
    with terminal.progress(console, first="loading the programs") as advance:
        for done in range(401):
            advance(done, 400, "step")
    lines = console.file.getvalue().splitlines()
    assert lines == [f"{done}/400 step" for done in range(0, 401, 10)]


def test_what_takes_hours_has_a_line_with_its_text_now_and_then():
    console = Console(file=io.StringIO(), width=40)
    with terminal.progress(console, first="planning", every=0.0) as advance:
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
    with terminal.progress(console, first="planning", every=3600.0) as advance:
        advance(1, 2, "not yet")
        advance(2, 2, "all")
    assert console.file.getvalue() == "2/2: all\n"


def test_the_first_line_comes_soon(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(terminal, "time", types.SimpleNamespace(monotonic=lambda: now[0]))
    console = Console(file=io.StringIO(), width=40)
    with terminal.progress(console, first="planning", every=60.0) as advance:
        for now[0] in (1.0, 3.0, 50.0, 64.0):
            advance(1, 2, f"after {now[0]:.0f} s")
    said = [line.partition(" s")[0] for line in console.file.getvalue().splitlines()]
    assert said == ["1/2: after 3", "1/2: after 64"]


def test_a_terminal_gets_a_bar_with_the_text_that_goes_away():
    ours, theirs = pty.openpty()
    shown = []

    def read():
        with contextlib.suppress(OSError):  # the other end is closed
            while part := os.read(ours, 1 << 16):
                shown.append(part.decode(errors="replace"))

    reader = threading.Thread(target=read)
    reader.start()
    with open(theirs, "w") as file:
        console = Console(file=file, width=120, force_terminal=True)
        with terminal.progress(console, first="loading the programs") as advance:
            advance(1, 4, "step: compiling")
            advance(0, 0, "step: lowering")
    reader.join()
    os.close(ours)
    text = "".join(shown)
    assert "loading the programs" in text
    assert "step: lowering" in text
    assert text.endswith("\x1b[2K")  # the bar's line is erased


@pytest.mark.parametrize(
    ("command", "asked"),
    [("culprit", "find_culprits"), ("tune", "answer"), ("sweep", "answer")],
)
@pytest.mark.parametrize(
    ("options", "steps"), [([], ["step: compiling", "1/2 step: calling"]), (["-q"], [])]
)
def test_experiments_say_what_they_do_on_stderr(
    monkeypatch, capsys, command, asked, options, steps
):
    def ask(*_, timeout, progress):
        progress(0, 0, "step: compiling")
        progress(1, 2, "step: calling")
        raise in_worker.ExperimentError("it: done")

    monkeypatch.setattr(in_worker, asked, ask)
    assert app.main([command, "m:step", *options]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    *told, last = printed.err.splitlines()
    assert (told, last.partition(": ")[0]) == (steps, "constparity")


def escapes(monkeypatch, **variables):
    """The escape sequences of a green word and a bold one, as these variables have it."""
    for name in ("NO_COLOR", "FORCE_COLOR", "TERM", "COLORTERM"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("sys.stdout", out := io.StringIO())
    console = terminal.console()
    console.print("[green]safe[/] [bold]all[/]")
    return "".join(re.findall("\x1b[^m]*m", out.getvalue()))


def test_colours_go_by_the_variables_that_all_programs_share(monkeypatch):
    assert escapes(monkeypatch, TERM="xterm") == ""  # a pipe
    assert "\x1b[32m" in escapes(monkeypatch, TERM="xterm", FORCE_COLOR="1")
    without = escapes(monkeypatch, TERM="xterm", FORCE_COLOR="1", NO_COLOR="1")
    assert "32" not in without
    assert "\x1b[1m" in without  # bold is no colour
    assert escapes(monkeypatch, TERM="dumb", FORCE_COLOR="1") == ""


def test_what_is_bad_is_told_from_the_rest_without_hues_as_well():
    styles = {*terminal.STYLES.values(), *terminal.FLIP_STYLES.values()}
    assert {style for style in styles if "bold" in style} == {"bold red"}
    assert terminal.STYLES["difference"] == terminal.FLIP_STYLES["different"] == "bold red"


def test_the_time_that_is_left_is_of_the_phase(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(terminal.time, "monotonic", lambda: now[0])
    left, told = terminal.TimeLeft(), []
    for seconds, done, total in [
        (0, 0, 4),
        (1, 1, 4),
        (60, 2, 4),
        (0, 0, 9),
        (30, 3, 9),
        (9, 9, 9),
    ]:
        now[0] += seconds
        told.append(left.of(done, total))
    assert told == [None, None, 61.0, None, 60.0, None]


def test_steps_that_differ_are_told_with_their_work(monkeypatch):
    now, told = [100.0], []
    monkeypatch.setattr(terminal.time, "monotonic", lambda: now[0])
    shown = terminal._OnConsole(None, lambda done, total, text, left: told.append(left))
    for done, work in enumerate([(0, 100), (10, 100), (60, 100)]):
        shown(done, 3, "", work)
        now[0] += 10
    assert told == [None, 90.0, pytest.approx(20 * 40 / 60)]


def test_the_time_left_runs_down_and_is_not_told_when_it_has_run_out(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(terminal.time, "monotonic", lambda: now[0])
    task = types.SimpleNamespace(fields={"ends": 160.0})
    told = []
    for seconds in (0, 30, 40):
        now[0] += seconds
        told.append(terminal._TimeLeftColumn().render(task).plain)
    assert told == ["about 60 s left", "about 30 s left", ""]


def test_a_pipe_is_told_what_takes_long_before_the_first_step(monkeypatch):
    monkeypatch.setattr(terminal, "SOON", 0.01)
    console = Console(file=io.StringIO(), width=80)
    with terminal.progress(console, first="reading runs.db") as advance:
        for _ in range(200):
            if console.file.getvalue():
                break
            time.sleep(0.01)
        advance(1, 1, "run 1")
    assert console.file.getvalue() == "reading runs.db\n1/1 run 1\n"
