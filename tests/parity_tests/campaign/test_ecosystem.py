"""A library becomes a corpus: fetched, its suite run, its programs collected, once."""

import sys
import tarfile
from pathlib import Path
from types import SimpleNamespace

import pytest

from parity_tests.campaign import ecosystem
from parity_tests.campaign.campaign import Asked, run_campaign
from parity_tests.campaign.libraries import with_libraries
from parity_tests.campaign.plan import NamedEnvironment
from parity_tests.campaign.spec import LibrarySpec, Spec, SpecError, read_spec
from parity_tests.campaign.tasks import Shard
from reports.store.plan_merge import merge
from reports.store.plan_report import plan_report
from tests.helpers.quick_tasks import run

TESTS = """
import warnings
import jax, jax.numpy as jnp

TABLE = jnp.arange(4.0)

def test_uses_a_table():
    warnings.warn("as of a library that is older than this Python")
    assert jax.jit(lambda x: x + TABLE)(1.0).sum() == 10

def test_fails_anyway():
    assert False
"""


@pytest.fixture
def library(tmp_path, monkeypatch):
    """A library whose source distribution is here, in an environment that is this one."""
    root = tmp_path / "sdist" / "table-1.0"
    root.mkdir(parents=True)
    (root / "test_table.py").write_text(TESTS)
    fetched = []

    def run(command):
        *_, folder, what = command
        fetched.append(what)
        if "missing" in what:
            return SimpleNamespace(status=1, stderr="ERROR: no matching distribution\n")
        with tarfile.open(Path(folder) / "table-1.0.tar.gz", "w:gz") as archive:
            archive.add(root, "table-1.0")
        return SimpleNamespace(status=0, stderr="")

    monkeypatch.setattr(ecosystem, "run_command", run)
    asked = []

    def environment_for(jax, packages, say):
        asked.extend(packages)
        return SimpleNamespace(python=Path(sys.executable))

    monkeypatch.setattr(ecosystem, "environment_for", environment_for)
    spec = LibrarySpec(
        name="table",
        version="1.0",
        known=[{"tests": ["*::test_fails_anyway"], "why": "it always has"}],
    )
    return SimpleNamespace(spec=spec, fetched=fetched, asked=asked)


SETTINGS = """
[tool.pytest.ini_options]
filterwarnings = ["error"]
testpaths = ["nowhere"]

[tool.constparity.pytest]
no-such-setting = 1
"""


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A project with settings for its own tests, in which the library is unpacked."""
    (tmp_path / "pyproject.toml").write_text(SETTINGS)
    (tmp_path / "conftest.py").write_text("raise AssertionError\n")
    monkeypatch.setenv("PYTEST_ADDOPTS", "--no-such-option")
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")


@pytest.mark.usefixtures("project")
def test_the_programs_of_a_suite_are_a_corpus_and_are_gathered_once(library, tmp_path):
    spec = Spec(library=(library.spec,))
    said = []
    corpora = [
        with_libraries(spec, tmp_path / "e", "0.10.2", said.append).spec.corpus for _ in "ab"
    ]
    assert corpora[0] == corpora[1]
    [corpus] = corpora[0]
    assert corpus.name == "table"
    [program] = Path(corpus.targets[0]).glob("*.py")
    assert "test_uses_a_table" in program.read_text()
    assert library.fetched == ["table==1.0"]
    assert {"table==1.0", "pip", "pytest"} <= set(library.asked)  # uv brings no pip, which fetches
    assert said == ["table 1.0: running its test-suite", "table 1.0: 1 program"]


def test_shards_of_a_library_that_have_other_stores_are_merged(
    suites, lists, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    spec = Spec(library=(LibrarySpec(name="table", version="1.0"),))
    stores = [Path("1.db"), tmp_path / "sub" / "2.db"]
    stores[1].parent.mkdir()
    for number, store in enumerate(stores, 1):
        asked = Asked(spec, Path(), store, (NamedEnvironment("here"),), shard=Shard(number, 2))
        run_campaign(asked, lambda folder, campaign, alone: run)
    assert suites.started == ["table"] * 2
    merge(stores, Path("whole.db"))
    assert plan_report(Path("whole.db")).states == {"safe": 2}


def test_a_library_that_cannot_be_fetched_is_named(library, tmp_path):
    spec = Spec(library=(library.spec.model_copy(update={"name": "missing"}),))
    with pytest.raises(SpecError, match="library 'missing': no source distribution of missing==1"):
        with_libraries(spec, tmp_path / "e", "0.10.2", str)


def test_a_suite_keeps_the_settings_that_it_has(tmp_path):
    (tmp_path / "pyproject.toml").write_text("[project]\n")
    (tmp_path / "setup.cfg").write_text("[metadata]\nname = a")
    for _ in range(2):
        ecosystem._bound(tmp_path)
        assert (tmp_path / "pyproject.toml").read_text() == "[project]\n"
        assert (tmp_path / "setup.cfg").read_text() == "[metadata]\nname = a\n[tool:pytest]\n"


def test_the_ecosystem_list_is_a_spec_of_libraries():
    spec = read_spec(Path(__file__).parents[3] / "docs" / "ecosystem.toml")
    assert len(spec.library) >= 8
    assert all(each.version and each.tests for each in spec.library)
