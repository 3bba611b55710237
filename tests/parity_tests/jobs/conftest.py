"""Planted projects, and a machine as a CI runner has it."""

import subprocess

import pytest
from bare_pythons import make_python, write_wheel
from system_programs import needed

from parity_tests.jobs.facts import facts
from parity_tests.jobs.origin import Origin

ORIGIN = Origin(("constparity @ git+https://example.org/a/constparity.git@0123",), "planted")
TESTED = {"tests/test_model.py": "def test_model():\n    pass\n"}


@pytest.fixture
def plant(tmp_path):
    """Write files into a new project, and return its folder."""

    def planted(files=TESTED, *, name="project"):
        folder = tmp_path / name
        folder.mkdir(exist_ok=True)
        for path, text in files.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(text.encode())
        return folder

    return planted


@pytest.fixture
def facts_of():
    """The facts of a project whose job installs constparity from a planted origin."""
    return lambda folder, *wanted: facts(folder, ORIGIN, *wanted)


@pytest.fixture
def git():
    """Run git in a folder, without the settings of this machine."""

    def run(folder, *arguments):
        environment = {
            "PATH": "/usr/local/bin:/usr/bin:/bin",
            "GIT_CONFIG_GLOBAL": "/dev/null",
            "GIT_CONFIG_NOSYSTEM": "1",
        }
        command = [needed("git"), "-C", str(folder), *arguments]
        subprocess.run(command, env=environment, check=True, capture_output=True)

    return run


@pytest.fixture(scope="module")
def machine(tmp_path_factory):
    """A machine with constparity's wheel, a home, and a Python: its variables."""
    folder = tmp_path_factory.mktemp("machine")
    python = make_python(folder / "python")
    wheel = write_wheel(folder)
    (folder / "home").mkdir()
    return {
        "CI": "true",
        "CONSTPARITY": f"--no-deps {wheel}",
        "CONSTPARITY_ENVIRONMENTS": str(folder / "environments"),
        "HOME": str(folder / "home"),
        "JAX_PLATFORMS": "cpu",
        "LANG": "C.UTF-8",
        "PATH": f"{python.parent}:/usr/bin:/bin",
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "PIP_NO_INDEX": "1",
    }
