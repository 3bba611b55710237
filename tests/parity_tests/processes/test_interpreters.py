"""Interpreters that sides run in: what is refused, and what a process finds there."""

import json
import os
import sys
from pathlib import Path

import pytest
from other_python import other_python
from program_files import program_file

from parity_tests import processes
from parity_tests.cli import app
from parity_tests.observe.environment import describe
from parity_tests.processes.interpreters import (
    NEEDED,
    InterpreterError,
    interpreter_at,
    user_paths,
)
from parity_tests.processes.options import RunOptions
from parity_tests.processes.worker_process import Worker
from parity_tests.run import run
from parity_tests.run.options import CampaignOptions
from parity_tests.targets import TargetError
from reports.rows import SIDES

STOCK = ("jax-legacy", "jax-simplified")
ROOT = str(Path(__file__).parents[3])


@pytest.fixture(scope="module")
def other(tmp_path_factory):
    return other_python(tmp_path_factory.mktemp("other"))


def script(file, text):
    file.write_text(f"#!/bin/sh\n{text}\n")
    file.chmod(0o755)
    return str(file)


# -- what is refused -------------------------------------------------------------------------------


def refused(path, *also):
    with pytest.raises(InterpreterError) as caught:
        interpreter_at(str(path), also)
    return str(caught.value)


def test_a_path_that_is_not_there(tmp_path):
    message = refused(tmp_path / "python")
    assert message.endswith("does not exist; name a Python by its path")


def test_a_folder_that_is_no_environment(tmp_path):
    assert "is a folder and no virtual environment: it has no bin/python" in refused(tmp_path)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("echo hello", "it does not answer as Python does"),
        ("true", "it does not answer as Python does"),
        ("echo not today >&2; exit 3", "exit status 3: not today"),
        ("echo []", "it does not answer as Python does"),
    ],
)
def test_a_program_that_is_no_python(tmp_path, text, said):
    message = refused(script(tmp_path / "python", text))
    assert "is no Python interpreter" in message
    assert said in message


def test_a_file_that_cannot_be_run(tmp_path):
    (tmp_path / "python").touch()
    assert "is no Python interpreter: Permission denied" in refused(tmp_path / "python")


def test_an_old_python(tmp_path):
    told = {"jax": "", "version": [3, 10, 4], "missing": ["jax"], "path": []}
    old = script(tmp_path / "python", f"echo '{json.dumps(told)}'")
    assert refused(old).endswith("is Python 3.10.4, and sides need 3.11 or newer")


def test_all_that_is_missing_is_named_with_the_command_for_that_interpreter(tmp_path):
    python = other_python(tmp_path / "bare", packages=())
    message = refused(python)
    assert f"lacks {', '.join(NEEDED)}; constparity installs nothing" in message
    assert message.endswith(f"{python} -m pip install {' '.join(NEEDED)}")


def test_packages_that_are_needed_besides(other):
    assert "lacks no_such_package;" in refused(other, "no_such_package")
    assert interpreter_at(str(other)) == other


def test_the_folder_of_an_environment_is_its_interpreter(other):
    assert interpreter_at(str(other.parent.parent)) == other


def test_a_name_is_looked_for_on_the_path(other, monkeypatch):
    monkeypatch.setenv("PATH", str(other.parent), prepend=os.pathsep)
    assert interpreter_at("python") == other


def test_packages_may_be_on_the_users_own_path(tmp_path, other, monkeypatch):
    bare = other_python(tmp_path / "bare", packages=())
    [site] = other.parent.parent.glob("lib/python*/site-packages")
    monkeypatch.setenv("PYTHONPATH", str(site))
    assert interpreter_at(str(bare)) == bare


# -- which sides run there -------------------------------------------------------------------------


def test_a_jax_that_does_not_start_is_named_with_what_it_says(tmp_path):
    python = other_python(tmp_path / "broken", packages=("jaxlib", "numpy", "pydantic"))
    [site] = python.parent.parent.glob("lib/python*/site-packages")
    (site / "jax.py").write_text("raise RuntimeError('no device')\n")
    with pytest.raises(TargetError, match=r"(?s)importing .*: exit status 1.*no device"):
        run.run([str(program_file("good_programs"))], CampaignOptions(python=python))


@pytest.mark.parametrize(
    ("sides", "code", "said"),
    [
        (["--sides", "legacy,simplified"], 4, "cannot run legacy and simplified: constparity's"),
        ([], 0, "legacy and simplified are left out: constparity's"),
    ],
)
def test_the_command_says_which_sides_cannot_run(tmp_path, capsys, sides, code, said):
    """In an interpreter whose JAX says that it is a later one."""
    python = other_python(tmp_path / "later")
    [site] = python.parent.parent.glob("lib/python*/site-packages")
    (site / "sitecustomize.py").write_text("import jax\njax.__version__ = '0.99.0'\n")
    target = f"{program_file('good_programs')}:good"
    options = ["--no-times", "--python", str(python)]
    assert app.main(["run", target, *options, *sides]) == code
    printed = capsys.readouterr()
    assert said in printed.err
    assert ("jax-legacy, jax-simplified on jax 0.99.0" in printed.out) == (code == 0)


# -- what a process finds there --------------------------------------------------------------------


def test_what_is_installed_here_is_not_passed_on(monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])
    assert str(tmp_path) in user_paths()
    installed = {str(Path(module.__file__).parent.parent) for module in (pytest, json)}
    assert not installed & set(user_paths())


def test_a_process_finds_what_its_interpreter_has_and_what_is_the_users(
    other, monkeypatch, tmp_path
):
    """Neither the engine on a side of stock JAX, nor what is installed beside the parent's JAX."""
    users = tmp_path / "users"
    users.mkdir()
    (users / "only_on_the_users_path.py").write_text("")
    monkeypatch.chdir(tmp_path)  # the working directory is a user's, and here it has the engine
    # The tests may have the checkout on PYTHONPATH, where it would be the user's.
    monkeypatch.delenv("PYTHONPATH", raising=False)
    own_paths = {*processes.interpreters._own_paths(), ROOT}
    monkeypatch.setattr(processes.interpreters, "_own_paths", lambda: own_paths)
    monkeypatch.setattr(sys, "path", [*sys.path, str(users)])
    options = CampaignOptions(steady_calls=0, python=other)
    rows = run.run([str(program_file("what_a_process_finds"))], options).programs
    found = {row.name: {each.side for each in row.observations if each.failure} for row in rows}
    assert found == {
        "the_engine": {"legacy", "simplified"},
        "installed_beside_the_parent": set(),
        "installed_there": set(SIDES),
        "on_the_users_path": set(SIDES),
    }


def test_every_process_of_a_campaign_runs_there(other, monkeypatch, tmp_path):
    """Drift, the arbiter, what runs again and alone, rounds, and the sides themselves."""
    started = []
    start = Worker.start

    def recorded(request, folder, side, **how):
        started.append(how.get("python"))
        return start(request, folder, side, **how)

    monkeypatch.setattr(Worker, "start", recorded)
    monkeypatch.setenv("CONSTPARITY_TEST_MARK", str(tmp_path / "mark"))
    options = CampaignOptions(sides=STOCK, attribute=True, rounds=1, python=other)
    drift, chance = program_file("planted_drift"), program_file("trust/unrepeatable")
    targets = [f"{drift}:folded", f"{drift}:other_after_folding", f"{chance}:unseeded_at_import"]
    result = run.run(targets, options)
    assert (set(started), len(started) > 8) == ({other}, True)
    *drifts, unseeded = result.programs
    assert [row.drift[0].cause for row in drifts] == ["constant folding", "another program"]
    assert (unseeded.verdict, bool(unseeded.times)) == ("not repeatable", True)
    measured = [each.measured_with for row in result.programs for each in row.observations]
    assert {each.jax for each in measured} == {describe().jax} == {result.environment.jax}


def test_runs_once_more_are_in_the_same_interpreter(other):
    options = CampaignOptions(python=other, timeout=7.0, memory_limit=9, reload=True)
    again = options.once_more(fresh=True)
    assert again == RunOptions(python=other, timeout=7.0, memory_limit=9, fresh=True)
    assert options.limits.python == options.time_limit.python == other
