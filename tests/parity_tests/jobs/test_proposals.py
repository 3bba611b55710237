"""What `init` would write: diffs that git applies, our line of a pipeline, and our section."""

import builtins
import tomllib
from pathlib import Path

import pytest

from parity_tests.cli.options import project_fail_on
from parity_tests.jobs import ProjectError
from parity_tests.jobs.proposals import (
    Change,
    Kept,
    apply,
    content_of,
    diff_of,
    include_change,
    section,
    section_change,
    stage_of,
)
from reports.rows import fail_rules


@pytest.mark.parametrize(
    "change",
    [
        Change(Path("new/file.yml"), None, "a\nb\n"),
        Change(Path("there.toml"), "a\nlast", "a\nlast\nb\n"),
        Change(Path("crlf.toml"), "a\r\n", "a\r\nb\r\n"),
    ],
    ids=lambda change: change.path.name,
)
def test_git_applies_the_diff_as_we_do(plant, git, change, tmp_path):
    files = {} if change.before is None else {str(change.path): change.before}
    by_git, by_us = plant(files, name="by_git"), plant(files, name="by_us")
    patch = tmp_path / "patch"
    patch.write_bytes(diff_of([change]).encode())
    git(by_git, "apply", str(patch))
    apply(by_us, [change])
    for folder in (by_git, by_us):
        assert (folder / change.path).read_bytes() == change.after.encode()


def test_a_file_that_changed_in_the_meantime_is_not_written_over(plant):
    folder = plant({"a": "of the user\n"})
    with pytest.raises(OSError, match="changed in the meantime"):
        apply(folder, [Change(Path("b"), None, "b"), Change(Path("a"), None, "ours")])
    assert [each.name for each in folder.iterdir()] == ["a"]


LINE = "  - local: /.gitlab/constparity.yml\n"


def changed(plant, before):
    found = include_change(plant({".gitlab-ci.yml": before}))
    assert isinstance(found, Change)
    return found.after


@pytest.mark.parametrize(
    "before", ["", "job:  # one\n  script: [!reference [a, script]]", "a: {}\n"]
)
def test_a_pipeline_without_includes_gets_one_behind_it(plant, before):
    after = changed(plant, before)
    assert after.startswith(before)
    assert after.endswith(f"include:\n{LINE}")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("include:\n  - local: /a.yml\nx: {}\n", f"include:\n{LINE}  - local: /a.yml\nx: {{}}\n"),
        (
            "x: {}\n# ours\ninclude: # all\n\n# one\n- /a.yml # first\n",
            f"x: {{}}\n# ours\ninclude: # all\n\n# one\n{LINE.strip()}\n- /a.yml # first\n",
        ),
    ],
)
def test_a_list_of_includes_gets_one_line(plant, before, after):
    assert changed(plant, before) == after


@pytest.mark.parametrize(
    "before",
    [f"include:\n{LINE}", "include: /.gitlab/constparity.yml\n"],
)
def test_a_second_time_nothing_is_added(plant, before):
    assert isinstance(include_change(plant({".gitlab-ci.yml": before})), Kept)


@pytest.mark.parametrize(
    ("before", "said"),
    [
        ("include: /a.yml\n", "no plain list; add this line"),
        ("include: [/a.yml]\n", "no plain list"),
        ("include: {local: /a.yml}\nx:\n  - y\n", "no plain list"),
        ("include:\n", "no plain list"),
        ("a: [\n", "cannot be read"),
        ("a: &a [*a]\n", "cannot be read: .*recursive node"),
        ("a: &a\n  b: *a\n", "cannot be read: .*recursive node"),
        (f"a: {'[' * 5000}", "cannot be read"),
        ("- a\n", "no mapping"),
    ],
)
def test_what_cannot_be_changed_safely_is_left_to_the_user(plant, before, said):
    with pytest.raises(ProjectError, match=said):
        include_change(plant({".gitlab-ci.yml": before}))


@pytest.mark.parametrize(
    ("before", "stage"),
    [("", "test"), ("stages: [build, test]\n", "test"), ("stages: [build, check]\n", "check")],
)
def test_the_stage_is_one_of_the_pipeline(plant, before, stage):
    assert stage_of(plant({".gitlab-ci.yml": before})) == stage


def test_stages_that_are_no_list_are_named(plant):
    with pytest.raises(ProjectError, match="its stages must be a list, and are 3"):
        stage_of(plant({".gitlab-ci.yml": "stages: 3\n"}))


def test_a_folder_in_the_place_of_a_file_is_named(plant):
    folder = plant({".gitlab-ci.yml/a_file": ""})
    with pytest.raises(ProjectError, match=r"\.gitlab-ci\.yml cannot be read: .*Is a directory"):
        include_change(folder)


def test_without_a_reader_of_yaml_the_extra_is_named(plant, monkeypatch):
    imported = builtins.__import__

    def without_yaml(name, *arguments, **keywords):
        if name == "yaml":
            raise ModuleNotFoundError(name)
        return imported(name, *arguments, **keywords)

    monkeypatch.setattr(builtins, "__import__", without_yaml)
    with pytest.raises(ProjectError, match=r"install constparity\[init\]"):
        stage_of(plant({".gitlab-ci.yml": ""}))


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


def test_a_file_that_is_no_utf_8_is_named(tmp_path):
    (tmp_path / "ci.yml").write_bytes("# é".encode("latin-1"))
    with pytest.raises(ProjectError, match=r"ci\.yml cannot be read"):
        content_of(tmp_path / "ci.yml")
