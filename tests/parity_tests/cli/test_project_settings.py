"""Settings of a project's pyproject.toml are those of the command, and a wrong one is an error."""

import pytest
import typer

from parity_tests.cli.options import Judging, project_fail_on


@pytest.fixture
def project(tmp_path, monkeypatch):
    def write(text):
        (tmp_path / "pyproject.toml").write_text(text)
        below = tmp_path / "src" / "package"
        below.mkdir(parents=True)
        monkeypatch.chdir(below)

    return write


@pytest.mark.parametrize("value", ['"drift,slower:20%"', '["drift", "slower:20%"]'])
def test_rules_of_the_project_hold_below_it_and_the_option_overrides_them(project, value):
    project(f"[tool.constparity]\nfail-on = {value}\n")
    assert [each.text for each in Judging().rules] == ["drift", "slower:20%"]
    assert [each.text for each in Judging("different").rules] == ["different"]


def test_without_settings_the_default_rules_hold(project):
    project("[tool.other]\nx = 1\n")
    assert [each.text for each in Judging().rules] == [
        "different", "placement", "new-failure", "not-compared", "not-proved:parted",
        "not-proved:undecided",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[tool.constparity]\nfail-in = []\n", "has no setting 'fail-in'"),
        ("[tool.constparity]\nfail-on = 3\n", "a text or a list of texts"),
        ("[tool.constparity\n", "cannot be read"),
        (
            "[tool.constparity.pytest]\nxfial = []\n",
            "has no setting 'xfial'; the settings are sees",
        ),
        (
            '[tool.constparity.pytest]\nxfail = "a.toml"\n',
            "xfail of [tool.constparity.pytest] must be",
        ),
        ("[tool.constparity]\npytest = 3\n", "tool.constparity.pytest is no table"),
        ("[tool]\nconstparity = 3\n", "is no table"),
    ],
)
def test_settings_that_cannot_be_read_name_the_file(project, capsys, text, said):
    project(text)
    with pytest.raises(typer.Exit):
        project_fail_on()
    printed = capsys.readouterr().err
    assert said in printed
    assert "pyproject.toml" in printed


def test_settings_of_the_plugin_stand_beside_those_of_the_commands(project):
    project(
        '[tool.constparity]\nfail-on = "drift"\n[tool.constparity.pytest]\nsees = "simplified"\n'
        'timeout = 3\nreport = ["json:a.json"]\nxfail = ["a.toml"]\nbaseline = "b.toml"\n'
    )
    assert project_fail_on() == "drift"


def test_a_rule_of_the_project_that_is_unknown_says_where_it_stands(project):
    project('[tool.constparity]\nfail-on = "unheard"\n')
    with pytest.raises(typer.BadParameter, match=r"fail-on of .tool.constparity.: no rule"):
        Judging()
