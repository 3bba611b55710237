"""The line that includes our jobs in a pipeline of the user."""

import builtins

import pytest

from parity_tests.jobs import ProjectError
from parity_tests.jobs.changes import Change, Kept
from parity_tests.jobs.gitlab_include import include_change, stage_of

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


def test_without_a_reader_of_yaml_the_extra_is_named(plant, monkeypatch):
    imported = builtins.__import__

    def without_yaml(name, *arguments, **keywords):
        if name == "yaml":
            raise ModuleNotFoundError(name)
        return imported(name, *arguments, **keywords)

    monkeypatch.setattr(builtins, "__import__", without_yaml)
    with pytest.raises(ProjectError, match=r"pip install 'constparity\[init\]'"):
        stage_of(plant({".gitlab-ci.yml": ""}))
