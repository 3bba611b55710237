"""The JAX versions that the engine runs on, and what it says where it refuses one."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import jax
import pytest
from program_files import script_file

from engine.jax_internals import supported_versions

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("version", ["0.10.2", "0.10.2.1", "0.12.0.1", jax.__version__])
def test_versions_that_the_engine_runs_on(version):
    assert supported_versions.refusal(version) is None


@pytest.mark.parametrize(
    "version", ["0.4.38", "0.10.1", "0.99", "0.99.0", "0.99.0.dev20270101", "0.99.0rc1", "1.0"]
)
def test_versions_that_the_engine_refuses(version):
    assert f"this is jax {version}." in supported_versions.refusal(version)


def test_the_message_has_a_way_out():
    message = supported_versions.refusal("0.99.0")
    assert "constparity run --sides jax-legacy,jax-simplified" in message
    assert "`constparity doctor`" in message
    assert re.search(r"pip install 'jax>=[\d.]+,<[\d.]+'", message)


def test_the_package_allows_the_versions_that_the_message_names():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    [requirement] = [each for each in project["dependencies"] if each.startswith("jax>")]
    assert f"pip install '{requirement}'" in supported_versions.refusal("0.99.0")


def test_importing_raises_the_message(monkeypatch):
    monkeypatch.setattr(jax, "__version__", "0.99.0")
    with pytest.raises(ImportError, match=r"this is jax 0\.99\.0"):
        supported_versions.require_supported_version()


def test_an_unknown_jax_is_refused_before_a_private_name_is_missed():
    done = subprocess.run(
        [sys.executable, str(script_file("import_under_untried_jax"))],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert "this is jax 0.13.0" in done.stderr.splitlines()[-1]
