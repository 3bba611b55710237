"""Environments without a network: Pythons and installers that only say and do what a test wants."""

import json
from pathlib import Path

import pytest

from parity_tests.environments import installers, store
from parity_tests.environments.installers import Ran


@pytest.fixture
def pythons(tmp_path, monkeypatch):
    """Plants Pythons on PATH; none of this machine is found but the one that runs the tests."""
    path = tmp_path / "path"
    path.mkdir()
    monkeypatch.setenv("PATH", str(path))
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path / "pyenv"))
    monkeypatch.setenv("UV_PYTHON_INSTALL_DIR", str(tmp_path / "uv"))

    def plant(named, folder=path, **answers):
        major, minor, patch = map(int, named.split("."))
        python = folder / f"python{major}.{minor}"
        answer = {
            "name": "cpython",
            "version": [major, minor, patch],
            "is_final": True,
            "has_gil": True,
            "has_venv": True,
            "path": str(python),
        }
        folder.mkdir(parents=True, exist_ok=True)
        python.write_text(f"#!/bin/sh\necho '{json.dumps({**answer, **answers})}'\n")
        python.chmod(0o755)
        return str(python)

    return plant


class FakeRunner:
    """Stands for uv and for Python: makes a folder with a Python, and says what is installed."""

    def __init__(self):
        self.commands = []
        self.fails = {}  # word of a command: what it says
        self.on_install = lambda: None
        self.installed = "0.12.0.1"

    def __call__(self, command, pass_fds=(), variables=None):
        self.commands.append(list(command))
        for word, stderr in self.fails.items():
            if word in command:
                return Ran(1, "", stderr)
        if "venv" in command:
            python = Path(command[-1]) / "bin" / "python"
            python.parent.mkdir(parents=True)
            python.touch()
        elif "install" in command:
            self.on_install()
        elif "-c" in command:
            said = {
                "jax": self.installed,
                "jaxlib": self.installed,
                "python_version": "3.15.0",
                "packages": ["jax==0.12.0.1", "numpy==2.4.6"],
            }
            return Ran(0, json.dumps(said), "")
        return Ran(0, "", "")

    def made(self):
        """Count the environments that packages were installed into."""
        return sum("install" in command for command in self.commands)


@pytest.fixture
def runner(monkeypatch):
    fake = FakeRunner()
    monkeypatch.setattr(installers, "run_command", fake)
    return fake


@pytest.fixture(autouse=True)
def store_folder(tmp_path, monkeypatch):
    monkeypatch.setenv(store.FOLDER_VARIABLE, str(tmp_path / "store"))
    return tmp_path / "store"
