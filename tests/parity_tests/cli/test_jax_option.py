"""The options --jax and --with, without a network: uv is a function of the test."""

import json
import sys
from pathlib import Path

import pytest

from parity_tests.cli import app
from parity_tests.environments import find_python, installers, making, store
from parity_tests.environments.find_python import InstalledPython
from parity_tests.environments.installers import Ran
from parity_tests.run import run as campaign


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """Hold the commands of the installer; "jax==0.99.0" fails."""
    commands = []

    def run(command, pass_fds=(), variables=None):
        commands.append(command)
        if "venv" in command:
            # The JAX of the tests, for `run` asks what is installed there.
            python = Path(command[-1]) / "bin" / "python"
            python.parent.mkdir(parents=True)
            python.write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
            python.chmod(0o755)
        if "jax==0.99.0" in command:
            return Ran(1, "", "error: no version of jax==0.99.0\n")
        if "-c" in command:
            version = command[0].split("jax-")[-1].split("-python")[0]
            said = dict.fromkeys(("jax", "jaxlib"), version)
            return Ran(0, json.dumps({**said, "python_version": "3.13.0", "packages": []}), "")
        return Ran(0, "", "")

    monkeypatch.setenv(store.FOLDER_VARIABLE, str(tmp_path / "store"))
    monkeypatch.setattr(installers, "run_command", run)
    python = InstalledPython("/usr/bin/python3.13", (3, 13, 0), has_venv=True)
    monkeypatch.setattr(find_python, "find", lambda jax, needs_venv=True: python)
    locks = []
    monkeypatch.setattr(making, "_in_use", locks)
    yield commands
    for lock in locks:
        lock.close()


@pytest.fixture
def measured(monkeypatch):
    """Return the Pythons that campaigns run in; none is run."""
    pythons = []

    class Enough(KeyboardInterrupt):
        pass

    def run(targets, options, **_):
        pythons.append(options.python)
        raise Enough

    monkeypatch.setattr(campaign, "run", run)
    return pythons


def test_an_environment_is_made_and_its_python_runs_the_programs(
    installed, measured, capsys, tmp_path
):
    app.main(["run", "--jax", "0.12.0.1", "--with", "flax", "--with", "optax>=0.2"])
    (python,) = measured
    assert python.parts[-3].startswith("jax-0.12.0.1-python3.13-with-")
    assert python.is_relative_to(tmp_path / "store")
    (install,) = [each for each in installed if "install" in each]
    assert install[-2:] == ["flax", "optax>=0.2"]
    assert "making an environment of JAX 0.12.0.1 with flax, optax>=0.2" in capsys.readouterr().err


def test_what_several_take_together_is_said_first(installed, measured, capsys):
    app.main(["run", "--jax", "0.12.0.1, 0.11.2,0.12.0.1"])
    said = capsys.readouterr().err.splitlines()
    assert said[0] == "constparity: 2 environments are missing: about 1,200 MB, about 2 minutes"
    assert sum("install" in each for each in installed) == 2


def test_a_version_that_cannot_be_had_is_one_message(installed, measured, capsys, tmp_path):
    assert app.main(["run", "--jax", "0.99.0"]) == 2
    assert capsys.readouterr().err.splitlines()[1] == (
        "constparity: no environment of JAX 0.99.0: uv says: error: no version of jax==0.99.0"
    )
    assert measured == []
    assert store.kept(tmp_path / "store") == []


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--jax", "latest"], "'latest' is no version of JAX"),
        (["--jax", "0.12.0.1,0.6.2"], "exists from 0.7.0 on"),
        (["--jax", ","], "names no version"),
        (["--with", "flax"], "--with needs --jax"),
        (["--jax", "0.12.0.1", "--with", "./gone"], "does not exist"),
    ],
)
def test_a_wrong_option_is_said_before_anything_is_made(installed, capsys, arguments, said):
    assert app.main(["run", *arguments]) == 4
    assert said in " ".join(capsys.readouterr().err.replace("│", " ").split())
    assert installed == []


def test_a_list_says_what_can_run_in_the_environment(installed, capsys, good_file):
    assert app.main(["run", str(good_file), "--jax", "0.12.0.1", "--list"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "1 program"
    assert len([each for each in installed if "install" in each]) == 1
