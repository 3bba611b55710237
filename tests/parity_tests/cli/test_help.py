"""The first screen, the pages of `--help`, and what a wrong word is told."""

import pytest

from parity_tests.cli import app
from parity_tests.cli.commands import COMMANDS, command_named, every_command
from parity_tests.cli.help_pages import RARE

PAGES = ["", *every_command()]


@pytest.fixture(autouse=True)
def small_terminal(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("LINES", "24")


def printed(capsys, *words):
    app.main(words)
    return capsys.readouterr().out


def test_no_command_shows_three_of_them_on_one_small_screen(capsys):
    assert app.main([]) == 4
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) <= 23  # and the prompt
    assert max(map(len, lines)) <= 80
    shown = [line.split()[1] for line in lines if line.startswith("  constparity ")]
    assert shown == ["run", "prove", "bisect"]


@pytest.mark.parametrize("name", PAGES)
def test_help_is_one_screen(name, capsys):
    lines = printed(capsys, *name.split(), "--help").splitlines()
    assert len(lines) <= (23 if name else 46)  # the one for all commands has a line for each
    assert [line for line in lines if len(line) > 80] == []


def test_help_says_more_where_the_terminal_has_room(capsys, monkeypatch):
    screen, whole = (printed(capsys, "run", each) for each in ("--help", "--help-all"))
    assert "\n  --with" not in screen
    assert "\n  --with" in whole
    monkeypatch.setenv("LINES", "40")
    assert "\n  --with PACKAGE" in (page := printed(capsys, "run", "--help"))
    assert len(page.splitlines()) <= 39
    monkeypatch.setenv("LINES", "100")
    assert printed(capsys, "run", "--help") == whole


@pytest.mark.parametrize("name", every_command())
def test_an_option_has_one_line_on_a_screen(name, capsys):
    if "--help-all explains" in (page := printed(capsys, *name.split(), "--help")):
        assert [line for line in page.splitlines() if line.startswith(" " * 5)] == []


@pytest.mark.parametrize("name", ["bisect", "sweep", "campaign"])
def test_what_has_no_more_reasons_to_print_has_no_option_for_them(name, capsys):
    assert "--quiet" in (page := printed(capsys, name, "--help-all"))
    assert "--verbose" not in page


@pytest.mark.parametrize("name", every_command())
def test_help_has_an_example(name, capsys):
    assert f"\n  constparity {name}" in printed(capsys, *name.split(), "--help")


@pytest.mark.parametrize("name", PAGES)
def test_help_names_all_options_and_help_all_explains_them(name, capsys):
    short, whole = (printed(capsys, *name.split(), each) for each in ("--help", "--help-all"))
    command = command_named(name.split()[0]) if name else None
    for word in name.split()[1:]:
        command = command.commands[word]
    for option in () if command is None else command.params:
        if option.param_type_name == "option" and "--help-all" not in option.opts:
            assert option.opts[0] in short or option.rich_help_panel == RARE
            assert option.help.split()[0] in whole
            assert option.is_flag or option.metavar, f"{option.name} has no name for its value"
    assert "\n  --debug  " in whole


def test_the_page_of_all_lists_each_command_once():
    names = [name for group in COMMANDS.values() for name in group]
    assert len(names) == len(set(names)) == 26


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["prov", "a.py"], "no command 'prov'; did you mean prove?"),
        (["diff", "a.json", "b.json"], "no command 'diff'; did you mean compare?"),
        (["verify", "a.py"], "no command 'verify'; did you mean prove?"),
        (["help"], "no command 'help'; did you mean --help?"),
        (["history", "help"], "no command 'help'; did you mean --help?"),
        (["history", "shwo", "1"], "no command 'shwo'; did you mean show?"),
        (["run", "--repot", "json:-"], "no option '--repot'; did you mean --report"),
        (["prove", "--platform", "cuda"], "no option '--platform'; did you mean --platforms?"),
    ],
)
def test_a_wrong_word_is_told_the_right_one(words, told, capsys):
    assert app.main(words) == 4
    assert told in (said := capsys.readouterr().err)
    assert "--help` " in said


def test_a_word_like_none_is_told_where_all_are_listed(capsys):
    assert app.main(["quux"]) == 4
    expected = "constparity: no command 'quux'\n  -> `constparity --help` lists the commands\n"
    assert capsys.readouterr().err == expected
