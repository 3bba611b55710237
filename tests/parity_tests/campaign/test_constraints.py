"""A spec names a constraints file: its lines reach each environment, wherever that is made."""

import runpy
from pathlib import Path
from types import SimpleNamespace

import pytest
from packaging.requirements import Requirement

from parity_tests.campaign import cluster, ecosystem
from parity_tests.campaign.campaign import digest_of
from parity_tests.campaign.spec import CampaignSpec, EnvironmentSpec, SpecError, read_spec
from parity_tests.campaign.tasks import Task
from parity_tests.cli import campaign
from parity_tests.environments import making
from parity_tests.environments.requirements import parsed

DOCS = Path(__file__).parents[3] / "docs"
SPEC = """
[campaign]
constraints = "pins.txt"
[[library]]
name = "table"
version = "1.0"
[[library]]
name = "chair"
version = "1.0"
constraints = "others.txt"
[[environment]]
jax = "0.12.0.1"
with = ["flax"]
[[environment]]
"""


def read(folder, pins="numpy==1\n", spec=SPEC):
    (folder / "spec.toml").write_text(spec)
    (folder / "pins.txt").write_text(pins)
    (folder / "others.txt").write_text("numpy==2\n")
    return read_spec(folder / "spec.toml")


def lines_of(packages):
    return [each.constraints for each in parsed(packages) if each.constraints]


def test_they_hold_in_all_that_is_made_without_any_of_its_own(tmp_path):
    spec = read(tmp_path)
    made, here = spec.environment
    assert [lines_of(each.packages) for each in spec.library] == [["numpy==1\n"], ["numpy==2\n"]]
    assert lines_of(made.packages) == ["numpy==1\n"]
    assert [each.text for each in parsed(made.packages)] == ["-c pins.txt", "flax"]
    assert here == EnvironmentSpec()


def test_other_lines_are_another_campaign_and_the_place_of_the_file_is_not(tmp_path):
    folders = [tmp_path / name for name in ("one", "same", "other")]
    for folder in folders:
        folder.mkdir()
    one, same = (read(folder) for folder in folders[:2])
    other = read(folders[2], pins="numpy==1.1\n")
    assert digest_of(one, "") == digest_of(same, "") != digest_of(other, "")
    keys = [
        Task(campaign=CampaignSpec(), environment=each.environment[0]).with_key().key
        for each in (one, same, other)
    ]
    assert keys[0] == keys[1] != keys[2]


def test_they_reach_the_environment_of_a_library(tmp_path, monkeypatch):
    asked, said = [], []

    def environment_for(jax, packages, say):
        asked.append(lines_of(packages))
        return SimpleNamespace(
            python=tmp_path / "python", packages=("jax==0.12", "Num.py==1", "late_one==2", "pip==1")
        )

    monkeypatch.setattr(ecosystem, "environment_for", environment_for)
    [library, _] = read(tmp_path, pins="# of one day\nnum-py==1; python_version < '4'\n").library
    ecosystem._python_with(library, "0.12", said.append)
    assert asked == [["# of one day\nnum-py==1; python_version < '4'\n"]]
    assert said == ["library 'table': pins.txt names no version of late-one"]


def test_they_reach_the_environments_that_are_made_here(tmp_path, monkeypatch):
    asked = []

    def plan(jax, packages, say):
        asked.append(lines_of(packages))

    monkeypatch.setattr(making, "planned", plan)
    monkeypatch.setattr(
        making, "environment_of", lambda *arguments: SimpleNamespace(python=tmp_path)
    )
    spec = read(tmp_path)
    named = campaign._environments(spec.environment, tmp_path, SimpleNamespace(say=print))
    assert asked == [["numpy==1\n"]]
    assert [each.label for each in named] == ["0.12.0.1 flax -c pins.txt", "here"]


def test_they_travel_to_workers_that_do_not_have_the_file(tmp_path, monkeypatch):
    made = read(tmp_path).environment[0]
    task = Task(campaign=CampaignSpec(), environment=made)
    (tmp_path / "pins.txt").unlink()
    asked = []

    def environment_for(jax, packages):
        asked.append(lines_of(packages))
        return SimpleNamespace(python=tmp_path / "python")

    monkeypatch.setattr(cluster, "environment_for", environment_for)
    monkeypatch.setattr(cluster, "_look_for_client", lambda: None)  # this is no worker
    monkeypatch.setattr(
        cluster,
        "run_here",
        lambda *_, at_work: [(task, SimpleNamespace(model_dump_json=lambda: "done"))],
    )
    assert cluster.run_on_worker(task.model_dump_json(by_alias=True)) == "done"
    assert asked == [["numpy==1\n"]]


@pytest.mark.parametrize(
    ("where", "said"),
    [
        ('[campaign]\nconstraints = "gone.txt"', "campaign constraints: cannot read the constrai"),
        ('[[environment]]\njax = "0.12"\nconstraints = "gone.txt"', "environment 1 constraints: "),
        ('[[environment]]\npython = "p"\nconstraints = "pins.txt"', "and not both"),
        ('[[environment]]\nconstraints = "pins.txt"', "name jax"),
    ],
)
def test_what_is_wrong_with_them_is_named_with_its_place(tmp_path, where, said):
    spec = f"{where}\n[[corpus]]\nname = 'a'\n"
    with pytest.raises(SpecError, match=r"spec\.toml") as raised:
        read(tmp_path, spec=spec)
    assert said in str(raised.value)
    if "gone" in where:
        assert str(raised.value).endswith(
            f"{str(tmp_path / 'gone.txt')!r}: No such file or directory; check the path, which is "
            "relative to the folder of the spec"
        )


def test_lines_of_another_file_would_not_be_known(tmp_path):
    with pytest.raises(SpecError, match=r"pins\.txt names another file, in '-c more\.txt': write"):
        read(tmp_path, pins="numpy==1\n -c more.txt\n")


def test_the_file_is_made_of_what_pip_finds_for_each_python():
    path = DOCS.parent / "tests" / "scripts" / "ecosystem_constraints.py"
    lines = runpy.run_path(str(path))["lines"]
    found = {
        "3.11": {"a": "1", "b": "1", "c": "1", "jax": "0.10.2"},
        "3.12": {"a": "1", "b": "2", "d": "1"},
        "3.13": {"a": "1", "b": "3", "d": "1"},
    }
    assert list(lines(found)) == [
        "a==1",
        'b==1; python_version < "3.12"',
        'b==2; python_version >= "3.12" and python_version < "3.13"',
        'b==3; python_version >= "3.13"',
        "c==1",
        "d==1",
    ]


def test_the_ecosystem_list_has_all_its_packages_of_one_day():
    spec = read_spec(DOCS / "ecosystem.toml")
    assert spec.campaign.constraints is not None
    lines = [
        Requirement(line)
        for line in spec.campaign.constraints.lines.splitlines()
        if not line.startswith("#")
    ]
    assert all(str(each.specifier).startswith("==") and not each.url for each in lines)
    named = {each.name for each in lines}
    assert not named & {"jax", "jaxlib", "constparity"}
    assert {f"{each.name}=={each.version}" for each in spec.library} <= set(map(str, lines))
    assert {name for each in spec.library for name in (*each.with_, "pytest")} <= named
