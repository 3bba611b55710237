"""A Python that has wheels of a JAX is found, or the error says which ones would do."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

from parity_tests.environments import find_python
from parity_tests.environments.find_python import (
    NoPythonError,
    between,
    checked,
    find,
    minors_for,
    newer_than,
    newest,
    on_index,
)

FILE = Path(find_python.__file__)


@pytest.mark.parametrize(
    ("jax", "minors"),
    [
        ("0.7.0", (11, 13)),
        ("0.7", (11, 14)),
        ("0.10.2", (11, 14)),
        ("0.11.0", (12, 14)),
        ("0.11", (12, 15)),
        ("0.12.0.1", (12, 15)),
        ("0.99", (12, 15)),  # newer than the table
    ],
)
def test_each_jax_has_its_range_of_pythons(jax, minors):
    assert minors_for(jax) == minors


@pytest.mark.parametrize("jax", ["", "12", "0.12.*", "jax==0.12.0", "0.12.0.1.5", "latest", "-e."])
def test_what_is_no_version_is_said(jax):
    with pytest.raises(NoPythonError, match="is no version of JAX"):
        find(jax)


@pytest.mark.parametrize("jax", ["0.6", "0.6.2", "0.4.38"])
def test_a_jax_without_the_flag_is_refused(jax):
    with pytest.raises(NoPythonError, match=r"exists from 0\.7\.0 on"):
        find(jax)


def test_the_newest_python_with_wheels_is_taken(pythons):
    pythons("3.14.2")
    taken = pythons("3.15.0")
    pythons("3.16.0")
    assert find("0.12.0.1").path == taken
    assert find("0.12.0.1").text == "3.15.0"
    assert find("0.10.2").version == (3, 14, 2)


@pytest.mark.parametrize(
    "unfit", [{"name": "pypy"}, {"is_final": False}, {"has_gil": False}, {"version": [3, 9, 0]}]
)
def test_a_python_that_jax_does_not_support_is_passed_over(pythons, unfit):
    pythons("3.15.0", **unfit)
    taken = pythons("3.14.0")
    assert find("0.12.0.1").path == taken


def test_a_shim_that_leads_nowhere_is_passed_over(pythons, tmp_path, monkeypatch):
    shims, behind = tmp_path / "shims", tmp_path / "behind"
    shims.mkdir()
    shim = shims / "python3.15"
    shim.write_text("#!/bin/sh\necho 'python3.15: command not found' >&2\nexit 127\n")
    shim.chmod(0o755)
    taken = pythons("3.15.1", behind)
    monkeypatch.setenv("PATH", f"{shims}{os.pathsep}{behind}")
    assert find("0.12.0.1").path == taken
    assert checked("0.12.0.1", "python3.15").path == taken


def test_pyenv_and_uv_are_searched_and_the_newest_patch_is_first(pythons, tmp_path):
    uv = pythons("3.14.9", tmp_path / "uv" / "cpython-3.14.9-linux-x86_64-gnu" / "bin")
    assert find("0.12.0.1").path == uv
    pythons("3.15.9", tmp_path / "pyenv" / "versions" / "3.15.9" / "bin")
    newest = pythons("3.15.10", tmp_path / "pyenv" / "versions" / "3.15.10" / "bin")
    assert find("0.12.0.1").path == newest


def test_a_python_without_venv_is_for_uv_alone(pythons):
    bare = pythons("3.15.0", has_venv=False)
    assert find("0.12.0.1", needs_venv=False).path == bare
    whole = pythons("3.14.0")
    assert find("0.12.0.1").path == whole


def test_where_none_fits_the_message_says_which_is_needed(pythons, monkeypatch):
    monkeypatch.setattr(sys, "version_info", (3, 11, 7))  # the Python of the tests may fit
    with pytest.raises(NoPythonError, match=r"JAX 0\.12\.0\.1 needs Python 3\.12 to 3\.15, and no"):
        find("0.12.0.1")
    pythons("3.12.0", has_venv=False)
    with pytest.raises(NoPythonError, match=r"has no module venv \(Debian has it in python3\.12-v"):
        find("0.12.0.1")


def test_the_python_of_a_virtual_environment_stands_for_its_own(monkeypatch, tmp_path):
    """What is printed makes environments, so it must not be one that can be deleted."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "v"], check=True)
    found = find_python._asked(str(tmp_path / "v" / "bin" / "python"))
    assert found.version == sys.version_info[:3]
    assert not Path(found.path).is_relative_to(tmp_path)


def test_a_python_that_the_user_names_has_to_fit(pythons):
    python = pythons("3.11.2")
    assert checked("0.10.2", python).path == python
    with pytest.raises(NoPythonError, match=r"needs Python 3\.12 to 3\.15, and .* is Python 3\.11"):
        checked("0.12.0.1", "python3.11")
    with pytest.raises(NoPythonError, match="is no CPython that can be run"):
        checked("0.12.0.1", "/nowhere/python")


def test_the_newest_jax_decides_and_a_python_with_all_wheels_is_preferred(pythons, monkeypatch):
    monkeypatch.setattr(sys, "version_info", (3, 10, 0))  # the Python of the tests may fit
    with pytest.raises(NoPythonError, match=r"JAX 0\.12\.0\.1 needs Python 3\.12 to 3\.15"):
        newest()
    for planted, found in (
        ("3.11.7", "3.11.7"),
        ("3.15.0", "3.15.0"),
        ("3.12.1", "3.12.1"),
        ("3.13.0", "3.13.0"),
    ):
        pythons(planted)
        assert newest().text == found


@pytest.mark.parametrize(
    ("jax", "minor", "on_index", "said"),
    [
        ("0.12.0.1", 13, "0.12.0.1", ""),
        ("0.12.0.1", 13, "", ""),
        ("0.12.0.1", 13, "0.11.2", ""),
        (
            "0.10.2", 11, "",
            "JAX 0.12.0.1 exists and needs Python 3.12 to 3.15: install one of these",
        ),
        (
            "0.12.0.1", 13, "0.13.1",
            "JAX 0.13.1 exists, and this constparity was tested up to 0.12.0.1",
        ),
        (
            "0.11.2", 13, "",
            "JAX 0.12.0.1 exists: delete the environment, and it is made with that one",
        ),
    ],
)  # fmt: skip
def test_a_newer_jax_is_said(jax, minor, on_index, said):
    assert newer_than(jax, minor, on_index) == said


def test_the_index_is_asked_through_pip(tmp_path):
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\nprintf 'jax (0.13.1)\\nAvailable versions: 0.13.1, 0.12.0\\n'\n")
    python.chmod(0o755)
    assert on_index(str(python)) == ["0.13.1", "0.12.0"]
    python.write_text(
        "#!/bin/sh\necho 'ERROR: No matching distribution found for jax' >&2; exit 1\n"
    )
    assert on_index(str(python)) == []
    assert on_index(str(tmp_path / "gone")) == []


LISTED = ["0.12.0.1", "0.12.0", "0.12.0rc1", "0.11.1", "0.11.0", "0.10.2", "0.6.2"]


@pytest.mark.parametrize(
    ("first", "last", "found"),
    [
        ("0.11.0", "0.12.0", ["0.11.0", "0.11.1", "0.12.0", "0.12.0.1"]),
        ("0.10", "0.11", ["0.10.2", "0.11.0", "0.11.1"]),
        ("0.11.1", "0.12.0.1", ["0.11.1", "0.12.0", "0.12.0.1"]),
    ],
)
def test_the_releases_of_a_range_are_those_of_the_index(first, last, found):
    assert between(first, last, LISTED) == found


def test_a_range_has_two_releases():
    with pytest.raises(NoPythonError, match=r"no two releases of JAX from 0.12.1 to 0.13"):
        between("0.12.1", "0.13", LISTED)
    with pytest.raises(NoPythonError, match="has no flag"):
        between("0.6.2", "0.12", LISTED)


def run_file(*arguments):
    """Run the file as the Makefile does, in a Python that has no packages."""
    return subprocess.run(
        [sys.executable, "-I", "-S", str(FILE), *arguments], capture_output=True, text=True
    )


def test_the_makefile_runs_the_file_by_itself(pythons):
    python = pythons("3.15.0")
    assert run_file("0.12.0.1").stdout == f"{python}\n"
    assert run_file("--newest").stdout.startswith("VENV=.venv")
    done = run_file("0.12")
    assert done.returncode == 1
    assert done.stdout == ""
    assert "names a series" in done.stderr


def test_the_file_runs_on_an_old_python():
    """It is the first thing that a user's `python3` runs, and says which Python is missing."""
    tree = ast.parse(FILE.read_text(), feature_version=(3, 9))
    imported = {
        name.split(".")[0]
        for node in ast.walk(tree)
        for name in (
            [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else [node.module]
            if isinstance(node, ast.ImportFrom)
            else []
        )
    }
    assert imported <= set(sys.stdlib_module_names)
