"""A test that takes its process with it: crashed, hung, killed, or ended by the test."""

import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from stock_suites import command, environment
from waiting import alive, await_

from parity_tests.processes.worker_process import supervise
from parity_tests.suites.stock_runs import side_run
from parity_tests.suites.stock_runs.heard import crash_of
from parity_tests.suites.stock_runs.outcomes import outcome_of
from parity_tests.suites.stock_runs.side_run import Asked, SideRun, SuitePython

CRASHES = """
def test_before(): pass
def test_crashes():
    if ON_SIMPLIFIED: os.kill(os.getpid(), signal.SIGSEGV)
def test_between(): pass
def test_is_killed():
    if not ON_SIMPLIFIED: os.kill(os.getpid(), signal.SIGKILL)
def test_exits():
    if IS_CHILD: os._exit(3)
def test_forks():
    if (child := os.fork()) == 0: os._exit(7)
    os.waitpid(child, 0)
def test_after(): pass
"""


def outcomes(result):
    listed = (
        *result.differences,
        *result.fail_otherwise,
        *result.fail_alike,
        *result.not_compared,
    )
    return {
        each.test.partition("::")[2]: (str(each.legacy), str(each.simplified)) for each in listed
    }


def test_the_tests_after_a_crash_still_run(plant, run):
    done = run(plant(CRASHES))
    killed = "crashed: crashed the interpreter (SIGKILL: killed from outside, or memory ran out)"
    exited = "crashed: ended the interpreter (exit status 3)"
    assert outcomes(done.result) == {
        "test_crashes": ("passed", "crashed: crashed the interpreter (SIGSEGV)"),
        "test_is_killed": (killed, "passed"),
        "test_exits": (exited, exited),
    }
    assert done.code == 1
    assert done.last_line == "3 failed, 4 passed"
    assert [side.starts for side in done.result.sides] == [3, 3]
    assert " in test_crashes\n" in done.printed  # the fault handler's own words


def test_a_suite_that_always_crashes_is_given_up(plant, tmp_path, monkeypatch):
    monkeypatch.setattr(side_run, "MOST_STARTS", 3)
    folder = plant("""
@pytest.mark.parametrize("x", range(5))
def test_crashes(x): os._exit(1)
""")
    asked = Asked(arguments=["-q"], options={}, started_in=folder)
    python = SuitePython(Path(sys.executable), "this JAX", is_own=True)
    run = SideRun("jax-legacy", python, asked, tmp_path)
    supervise([run])
    assert run.starts == 3
    assert run.ending.startswith("given up after 3 processes")
    words = [outcome_of(run, test).outcome for test in run.selected]
    assert words == ["crashed", "crashed", "crashed", "not run", "not run"]


def test_a_side_says_how_far_it_is_and_what_runs(plant, tmp_path, monkeypatch):
    monkeypatch.setattr(side_run, "_SECONDS_OF_SILENCE", 0.0)
    folder = plant("def test_one(): time.sleep(0.5)\ndef test_two(): time.sleep(0.5)")
    python = SuitePython(Path(sys.executable), "this JAX", is_own=True)
    told = []
    asked = Asked(arguments=["-q"], options={}, started_in=folder)
    supervise([SideRun("jax-legacy", python, asked, tmp_path, told.append)])
    assert told[0] == "jax-legacy, this JAX: collecting the tests"
    assert "jax-legacy, this JAX: 0/2 tests, at test_it.py::test_one" in told
    assert any(
        re.fullmatch(r".*: 1/2 tests, (about|a few) .* left, at test_it\.py::test_two", line)
        for line in told
    )


def test_a_hang_is_ended_and_the_others_run(plant, run):
    done = run(
        plant("""
def test_hangs():
    if ON_SIMPLIFIED: time.sleep(600)
def test_after(): pass
"""),
        "--constparity-timeout=3",
    )
    assert outcomes(done.result) == {
        "test_hangs": ("passed", "hung: hung: no progress in 3 seconds")
    }
    assert "in test_hangs" in done.printed  # the line on which it hung
    assert done.last_line == "1 failed, 1 passed"


def test_a_conftest_that_crashes_one_side_differs_in_every_test(plant, run):
    done = run(
        plant(
            {
                "conftest.py": "if ON_SIMPLIFIED: os.abort()",
                "test_it.py": "def test_one(): pass\ndef test_two(): pass",
            }
        )
    )
    lost = "not collected: crashed the interpreter (SIGABRT) before the tests were collected"
    assert set(outcomes(done.result).values()) == {("passed", lost)}
    assert done.last_line == "2 failed"


AT_THE_END = {
    "os._exit(3)": "ended with exit status 3, where its tests come to 0",
    "os.abort()": "crashed the interpreter (SIGABRT) after the last test",
}


@pytest.mark.parametrize("ends", AT_THE_END)
def test_a_side_that_ends_otherwise_after_its_tests_fails_the_run(plant, run, ends):
    conftest = "def pytest_unconfigure():\n    if {}: " + ends
    suite = {"test_it.py": "def test_one(): pass"}
    done = run(plant({**suite, "conftest.py": conftest.format("ON_SIMPLIFIED")}))
    assert done.code == 1
    assert AT_THE_END[ends] in done.printed
    [fault] = done.result.faults
    assert fault.startswith("the processes of both sides end otherwise (JAX ")
    assert fault in done.printed
    alike = run(plant({**suite, "conftest.py": conftest.format("IS_CHILD")}))
    assert alike.code == 0  # as it is on both sides, which is told
    assert alike.printed.count(AT_THE_END[ends]) == 2


def test_an_exit_status_that_a_plugin_sets_on_one_side_fails_the_run(plant, run):
    sets = "def pytest_sessionfinish(session):\n    if ON_SIMPLIFIED: session.exitstatus = 1"
    done = run(plant({"conftest.py": sets, "test_it.py": "def test_one(): pass"}))
    assert done.code == 1
    assert "ended with exit status 1, where its tests come to 0" in done.printed


def test_an_exit_of_the_session_is_no_pass(plant, run):
    done = run(
        plant("""
def test_one(): pass
def test_exits():
    if IS_CHILD: pytest.exit("enough")
def test_after(): pass
""")
    )
    assert done.code == 1
    assert done.last_line == "1 passed, 2 errors"
    assert "2 not compared" in done.printed


WAITS = """
def test_one(): assert not ON_SIMPLIFIED
def test_waits():
    if ON_SIMPLIFIED:
        Path("here").write_text(str(os.getpid()))
        time.sleep(600)
"""


@pytest.fixture
def waiting(plant):
    """A pytest whose child waits in its second test on jax-simplified, and the id of the child."""
    folder = plant(WAITS)
    process = subprocess.Popen(
        command(), cwd=folder, env=environment(), stdout=subprocess.PIPE, text=True
    )
    here = folder / "here"
    await_(lambda: here.exists() and here.read_text())
    yield process, int(here.read_text())
    process.kill()
    process.communicate()


@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_ends_the_children_and_tells_what_is_known(waiting, number):
    process, child = waiting
    process.send_signal(number)
    printed, _ = process.communicate(timeout=60)
    assert process.returncode == 2
    assert "jax-legacy: JAX" in printed
    assert "passed on jax-legacy, failed on jax-simplified" in printed
    assert "stopped early: 1 of the tests are not among these" in printed
    assert not alive(child)


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel of Linux ends them")
def test_a_child_ends_with_a_parent_that_is_killed(waiting):
    process, child = waiting
    process.kill()
    await_(lambda: not alive(child), seconds=20)


@pytest.mark.parametrize(
    ("status", "said"),
    [
        ("-11", "crashed the interpreter (SIGSEGV)"),
        ("-9", "crashed the interpreter (SIGKILL: killed from outside, or memory ran out)"),
        ("-40", "crashed the interpreter (SIGRTMIN+6)"),
        ("3", "ended the interpreter (exit status 3)"),
        ("", "ended the interpreter"),
    ],
)
def test_how_an_interpreter_ended(status, said):
    assert crash_of(status) == said
