"""A campaign from its spec to its report, killed on the way, as a user sees it."""

import signal
import sqlite3
import subprocess
import sys

import psutil
import pytest

from reports.store.plan_report import plan_report
from tests.helpers.waiting import await_

PROGRAMS = """
import jax.numpy as jnp
import numpy as np

from parity_tests.program import program

TABLE = np.arange(1000.0, dtype=np.float32)


@program
def lookup():
    return (lambda i: jnp.asarray(TABLE)[i] * 2), (jnp.int32(3),)


@program
def raises():
    def fun(x):
        raise ValueError("planted")

    return fun, (jnp.ones(3),)


@program
def scale():
    return (lambda x: x * jnp.asarray(TABLE)), (jnp.float32(2.0),)
"""
SPEC = """
[campaign]
name = "small"
task_size = 1
sides = ["jax-legacy", "jax-simplified"]
self_comparison = false

[[corpus]]
name = "programs"
targets = ["programs.py"]
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "programs.py").write_text(PROGRAMS)
    (tmp_path / "small.toml").write_text(SPEC)
    return tmp_path


def start(folder, *arguments):
    return subprocess.Popen(
        [sys.executable, "-m", "parity_tests.cli", "campaign", "small.toml", *arguments],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def done(folder):
    """Return the names of the programs that the store has."""
    file = folder / "small.db"
    if not file.exists():
        return []
    connection = sqlite3.connect(file)
    try:
        return connection.execute("SELECT name FROM programs").fetchall()
    except sqlite3.OperationalError:  # its tables are not there yet
        return []
    finally:
        connection.close()


@pytest.mark.deep
@pytest.mark.usefixtures("interruptible")
def test_a_campaign_that_is_killed_and_interrupted_goes_on_and_each_program_is_there_once(folder):
    killed = start(folder)
    await_(lambda: done(folder))
    children = psutil.Process(killed.pid).children(recursive=True)
    killed.send_signal(signal.SIGKILL)
    killed.communicate()
    await_(lambda: not any(each.is_running() for each in children))
    before = len(done(folder))
    so_far = plan_report(folder / "small.db")
    assert (so_far.planned, so_far.finished) == (3, "")
    assert so_far.states["not run"] == 3 - before

    interrupted = start(folder)
    while f"campaign 1 in small.db: {3 - before} program" not in interrupted.stderr.readline():
        assert interrupted.poll() is None
    interrupted.send_signal(signal.SIGINT)
    errors = interrupted.communicate()[1]
    assert interrupted.returncode == 130
    assert (
        "interrupted; small.db has the tasks that had ended, and the same command goes on" in errors
    )

    before = len(done(folder))
    again = start(folder, "--report", "comment:comment.md", "--report", "html:page.html")
    output, errors = again.communicate()
    assert again.returncode == 2, errors
    assert f"campaign 1 in small.db: {3 - before} program" in errors
    assert "3 programs: 1 could not be compared" in output
    report = plan_report(folder / "small.db")
    assert report.states == {"could not compare": 1, "safe": 2}
    assert [(each.programs, each.line) for each in report.causes] == [
        (("raises",), "programs.py:18")
    ]
    assert sorted(done(folder)) == [("lookup",), ("raises",), ("scale",)]
    assert "1 could not be compared" in (folder / "comment.md").read_text()
    assert not (folder / "small.db.work").exists()

    (folder / "small.toml").write_text(
        SPEC.replace("[[corpus]]", 'fail_on = ["drift"]\n[[corpus]]')
    )
    held = start(folder, "--status")
    held.communicate()
    assert held.returncode == 0

    (folder / "programs.py").write_text(PROGRAMS + "# changed\n")
    refused = start(folder)
    assert "has changed since; begin another one with --anew" in refused.communicate()[1]
    assert refused.returncode == 4

    listed = start(folder, "--list", "could not compare")
    assert listed.communicate()[0] == "raises\n"
