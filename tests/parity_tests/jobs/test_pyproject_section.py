"""The section of pyproject.toml: added where it is missing, and nothing else is touched."""

import tomllib

import pytest

from parity_tests.cli.options import project_fail_on
from parity_tests.jobs import ProjectError
from parity_tests.jobs.changes import Change, Kept
from parity_tests.jobs.proposals import section, section_change
from reports.rows import fail_rules


@pytest.mark.parametrize(
    "before",
    [
        "",
        "# a comment alone",
        '[project]\nname = "p"  # aligned\n\n\n[tool.other]\nx = 1\n',
        "tool.other.x = 1\n",
        "[project]\r\nname = 'p'\r\n",
    ],
)
def test_it_stands_behind_what_was_there(plant, before):
    found = section_change(plant({"pyproject.toml": before}))
    assert isinstance(found, Change)
    assert found.after.startswith(before)
    assert found.after.replace("\r\n", "\n").endswith(section())
    assert ("\r\n" in before) == ("\r\n" in found.after)
    assert "constparity" in tomllib.loads(found.after)["tool"]


def test_without_a_file_it_is_the_file(plant):
    assert section_change(plant({})).after == section()


def test_its_rules_are_read_and_are_the_default_ones(plant, monkeypatch):
    monkeypatch.chdir(plant({"pyproject.toml": section()}))
    assert fail_rules.parse(project_fail_on()) == fail_rules.parse(fail_rules.DEFAULT)


@pytest.mark.parametrize("before", ["[tool.constparity]\n", "[tool.constparity.pytest]\nx = 1\n"])
def test_a_section_of_the_user_stays(plant, before):
    assert isinstance(section_change(plant({"pyproject.toml": before})), Kept)


@pytest.mark.parametrize(
    ("before", "said"),
    [
        ("tool = {}\n", "by hand"),
        ("[project\n", "cannot be read"),
        ("tool = 1\n", "by hand"),
    ],
)
def test_a_file_that_cannot_take_it_is_named(plant, before, said):
    with pytest.raises(ProjectError, match=said):
        section_change(plant({"pyproject.toml": before}))
