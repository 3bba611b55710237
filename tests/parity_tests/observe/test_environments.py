"""Each start of a process is told with the environment that it gets."""

import os
import subprocess
import sys

import pytest

from parity_tests.observe.environments import starts_told

NAME = "CONSTPARITY_TEST_OF_ENVIRONMENTS"


def told_by(start):
    found = []
    with starts_told(found.append):
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


def test_nothing_is_told_after_the_block():
    found = []
    with starts_told(found.append):
        pass
    subprocess.run([sys.executable, "-c", ""], check=True)
    assert found == []
