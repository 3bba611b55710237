import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from waiting import alive, await_

from parity_tests.environments.installers import (
    Installer,
    InstallError,
    Ran,
    installer_found,
    reason,
    run_command,
)

UNKNOWN = """\
WARNING: Location 'file:///gone' is ignored: it is neither a file nor a directory.
ERROR: Ignored the following versions that require a different python version: 0.1 Requires-Python
ERROR: Could not find a version that satisfies the requirement jax==0.99 (from versions: 0.1, 0.2, \
0.11.0, 0.11.1, 0.11.2, 0.12.0, 0.12.0.1)
ERROR: No matching distribution found for jax==0.99
"""
UNREACHED = """\
WARNING: Retrying (Retry(total=0, connect=None, read=None, redirect=None, status=None)) after \
connection broken by 'NewConnectionError('<pip._vendor.urllib3.connection.HTTPSConnection object \
at 0x7fa2ff753230>: Failed to establish a new connection: [Errno 111] Connection refused')': \
/simple/jax/
ERROR: Could not find a version that satisfies the requirement jax==0.12.0 (from versions: none)
ERROR: No matching distribution found for jax==0.12.0
"""
CONFLICT = """\
Collecting jax==0.10.2

The conflict is caused by:
    The user requested numpy>=2.1
    The user requested (constraint) numpy==2.0.0

To fix this you could try to:
"""
UV = """\
error: No solution found when resolving dependencies
cause: Because there is no version of jax==0.99.1 and you require jax==0.99.1, we can conclude ...
"""


def test_a_version_that_does_not_exist_is_said_with_the_newest_ones():
    assert reason(Ran(1, "", UNKNOWN)) == (
        "Could not find a version that satisfies the requirement jax==0.99 (the newest: 0.11.0, "
        "0.11.1, 0.11.2, 0.12.0, 0.12.0.1); No matching distribution found for jax==0.99"
    )


def test_a_conflict_of_pip_names_both_requirements():
    stderr = "ERROR: Cannot install numpy>=2.1\nERROR: ResolutionImpossible\n"
    assert reason(Ran(1, CONFLICT, stderr)) == (
        "Cannot install numpy>=2.1; The user requested numpy>=2.1; The user requested (constraint) "
        "numpy==2.0.0; ResolutionImpossible"
    )


def test_an_index_that_is_not_reached_is_said():
    for stderr in (
        UNREACHED,
        UNREACHED.replace("versions: none", "versions: 0.10.2"),
    ):  # of a folder
        assert reason(Ran(1, "", stderr)) == (
            "the index was not reached, so jax==0.12.0 cannot be installed: connect this machine, "
            "or name an index with PIP_INDEX_URL (Failed to establish a new connection: "
            "[Errno 111] Connection refused)"
        )


def test_without_any_version_it_is_said_that_perhaps_nobody_was_asked():
    without_warning = UNREACHED[UNREACHED.index("ERROR: ") :]
    assert reason(Ran(1, "", without_warning)) == (
        "Could not find a version that satisfies the requirement jax==0.12.0 (from versions: "
        "none); No matching distribution found for jax==0.12.0; the index has no version of it, or "
        "pip was kept from asking one"
    )


def test_the_errors_of_uv_and_of_builds_are_the_last_lines():
    assert reason(Ran(1, "", UV)) == UV.strip()
    assert reason(Ran(1, "on stdout", "")) == "on stdout"
    assert reason(Ran(3, "", "")) == "nothing, and exits with 3"


def test_uv_is_taken_where_it_is(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert installer_found().name == "pip"
    uv = tmp_path / "uv"
    uv.write_text("#!/bin/sh\n")
    uv.chmod(0o755)
    assert installer_found() == Installer(str(uv))
    assert installer_found().name == "uv"


@pytest.mark.parametrize("uv", [None, "/bin/uv"])
def test_one_command_makes_and_one_installs_all(runner, tmp_path, uv):
    installer = Installer(uv, runner)
    folder = tmp_path / "made"
    installer.make("/bin/python3.12", folder)
    installer.install(folder, ["jax==0.12.0.1", "flax"])
    make, install = runner.commands
    assert str(folder) in make
    assert "/bin/python3.12" in make
    assert install[-2:] == ["jax==0.12.0.1", "flax"]
    assert str(folder / "bin" / "python") in install
    assert (uv in make) == (uv in install) == bool(uv)


def test_the_newest_release_is_read_from_the_report_of_pip(tmp_path):
    def run(command, pass_fds=()):
        if "--report" in command:
            assert command[-1] == "jax==0.12.*"
            report = {"install": [{"metadata": {"version": "0.12.0.1"}}]}
            Path(command[command.index("--report") + 1]).write_text(json.dumps(report))
        return Ran(0, "", "")

    assert Installer(None, run).newest("/bin/python3.12", "0.12") == "0.12.0.1"


def test_the_newest_release_is_read_from_what_uv_prints():
    def run(command, pass_fds=()):
        assert Path(command[-1]).read_text() == "jax==0.12.*\n"
        return Ran(0, "jax==0.12.0.1\n", "")

    assert Installer("/bin/uv", run).newest("/bin/python3.12", "0.12") == "0.12.0.1"


def test_a_command_that_fails_gives_its_reason(runner, tmp_path):
    runner.fails["install"] = "ERROR: [Errno 28] No space left on device\n"
    with pytest.raises(InstallError, match=r"^pip says: \[Errno 28\] No space left on device$"):
        Installer(None, runner).install(tmp_path, ["jax"])


def test_packages_of_this_process_are_not_taken_for_installed(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", "/packages/of/the/parent")
    monkeypatch.setenv("PIP_TARGET", "/elsewhere")
    monkeypatch.setenv("PIP_INDEX_URL", "https://example.org/simple")
    names = "PYTHONPATH", "PIP_TARGET", "PIP_INDEX_URL", "PIP_USER"
    script = f"import os; print([os.environ.get(name) for name in {names}])"
    ran = run_command([sys.executable, "-c", script])
    assert ran.stdout == "[None, None, 'https://example.org/simple', '0']\n"


@pytest.mark.usefixtures("interruptible")
def test_an_interrupted_command_ends_with_all_that_it_started(tmp_path):
    """Ctrl-C reaches the parent alone, and then nothing may go on writing."""
    file = tmp_path / "pid"
    command = ["sh", "-c", f"sleep 600 & echo $! > {file}.part; mv {file}.part {file}; wait"]
    script = (
        f"from parity_tests.environments.installers import run_command\nrun_command({command!r})\n"
    )
    parent = subprocess.Popen(
        [sys.executable, "-c", script], stderr=subprocess.DEVNULL, cwd=Path(__file__).parents[3]
    )
    await_(file.exists)
    sleeping = int(file.read_text())
    parent.send_signal(signal.SIGINT)
    assert parent.wait(timeout=60) != 0
    await_(lambda: not alive(sleeping))


@pytest.mark.usefixtures("interruptible")
def test_a_command_that_is_interrupted_as_it_starts_ends(monkeypatch):
    """The process runs before the caller has it."""
    started = []

    class Started(subprocess.Popen):
        def __init__(self, *args, **kwargs):
            super().__init__(*args, **kwargs)
            started.append(self)
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(subprocess, "Popen", Started)
    with pytest.raises(KeyboardInterrupt):
        run_command(["sleep", "600"])
    [process] = started
    assert process.returncode == -signal.SIGKILL
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
