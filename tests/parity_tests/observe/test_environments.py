"""Each start of a process is told with its environment, and each look at the file of our own."""

import contextlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

from parity_tests.observe.environment import FLAG
from parity_tests.observe.reads.flag import environments_told
from parity_tests.observe.reads.recording import recording

NAME = "CONSTPARITY_TEST_OF_ENVIRONMENTS"


def told_by(start):
    found = []
    with environments_told(found.append):
        start()
    return [each.get(NAME) for each in found]


@pytest.mark.parametrize(
    ("start", "value"),
    [
        (lambda: subprocess.run(["true"], check=True), "1"),
        (lambda: subprocess.run(["true"], check=True, env={NAME: "2"}), "2"),
        (lambda: subprocess.run(["true"], check=True, env={}), None),
        (lambda: os.system("true"), "1"),
        (lambda: os.waitpid(os.posix_spawn("/bin/true", ["true"], {NAME: "3"}), 0), "3"),
    ],
)
def test_a_start_is_told_with_its_environment(monkeypatch, start, value):
    monkeypatch.setenv(NAME, "1")
    # Python may start a process by another way that it tells of as well.
    assert set(told_by(start)) == {value}


def test_a_start_is_no_read_of_the_flag(monkeypatch):
    """Though the copy that a child is given is read variable by variable."""
    monkeypatch.setenv(FLAG.upper(), "1")
    with recording() as reads:
        subprocess.run(["true"], check=True)
    assert {site.subject for site in reads.sites()} == {"environment"}
    assert len(reads.log) == 1


def test_nothing_is_told_after_the_block():
    found = []
    with environments_told(found.append):
        pass
    subprocess.run([sys.executable, "-c", ""], check=True)
    assert found == []


@pytest.mark.parametrize(
    ("file", "is_told"),
    [
        ("/proc/self/environ", True),
        (b"/proc/self/environ", True),
        (Path("/proc/self/environ"), True),
        ("/proc/PID/environ", True),
        ("/proc/self/cmdline", False),
        ("/proc/1/environ", False),
        (os.devnull, False),
    ],
)
def test_the_file_of_the_own_environment_is_told_with_what_it_holds(file, is_told):
    if file == "/proc/PID/environ":  # Each worker of pytest-xdist must collect the same names.
        file = f"/proc/{os.getpid()}/environ"
    found = []
    with environments_told(found.append), contextlib.suppress(PermissionError), open(file, "rb"):
        pass
    lines = Path("/proc/self/environ").read_bytes().split(b"\0")
    held = dict(os.fsdecode(each).split("=", 1) for each in lines if each)
    assert found == ([held] if is_told else [])


def test_a_variable_that_was_set_since_the_start_is_not_in_the_file(monkeypatch):
    monkeypatch.setenv(NAME, "1")
    assert told_by(lambda: os.close(os.open("/proc/self/environ", os.O_RDONLY))) == [None]
