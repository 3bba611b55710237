"""Makes virtual environments and installs packages: with uv where it is, else with venv and pip."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Protocol

# With one of these, packages of another Python would be taken for installed, or go elsewhere.
_LEFT_OUT = (
    "PIP_PREFIX", "PIP_PYTHON", "PIP_ROOT", "PIP_TARGET", "PYTHONHOME", "PYTHONPATH",
    "UV_SYSTEM_PYTHON", "VIRTUAL_ENV", "__PYVENV_LAUNCHER__",
)  # fmt: skip
_SET = {"PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_NO_INPUT": "1", "PIP_USER": "0"}
_LONGEST = 1500  # characters of a reason
# What pip says when it tries again; the connection is an object with an address.
_BROKEN = re.compile(
    r"^WARNING: Retrying .* after connection broken by '"
    r"(?:\w+\(['\"]<[^>]*>: )?(.*?)(?:['\"]\))?': ",
    re.MULTILINE,
)
_NOT_FOUND = re.compile(r"Could not find a version that satisfies the requirement (\S+)")
_CONFLICT = re.compile(r"^The conflict is caused by:\n((?: +.+\n?)+)", re.MULTILINE)
_ALL_VERSIONS = re.compile(r"\(from versions: (?:[^,)]+, )+((?:[^,)]+, ){4}[^,)]+)\)")


class InstallError(ValueError):
    """An installer failed; the message has its reason."""


@dataclass(frozen=True)
class Ran:
    """How a command ended, and what it printed."""

    status: int
    stdout: str
    stderr: str


class Runner(Protocol):
    """Runs a command to its end; the file descriptors stay open in it."""

    def __call__(self, command: Sequence[str], pass_fds: Sequence[int] = ()) -> Ran:
        """Run it."""


def run_command(command: Sequence[str], pass_fds: Sequence[int] = ()) -> Ran:
    """Run a command, which is killed with all that it started when this is interrupted."""
    environment = {name: value for name, value in os.environ.items() if name not in _LEFT_OUT}
    process = None
    try:
        # Interrupted before it has a name here, a process would go on.
        with _interrupts_held_back():
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                errors="replace",
                env={**environment, **_SET},
                pass_fds=pass_fds,
                start_new_session=True,
            )
        stdout, stderr = process.communicate()
    finally:
        if process is not None:
            with process:  # which closes its pipes, and waits
                if process.poll() is None:
                    with contextlib.suppress(ProcessLookupError):
                        os.killpg(process.pid, signal.SIGKILL)
    return Ran(process.returncode, stdout, stderr)


@contextlib.contextmanager
def _interrupts_held_back() -> Iterator[None]:
    """Interrupt the block when it has ended. Python interrupts the main thread alone."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[tuple[int, FrameType | None]] = []
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    of_python = {number: each for number, each in handlers.items() if callable(each)}
    for number in of_python:
        signal.signal(number, lambda *arguments: came.append(arguments))
    try:
        yield
    finally:
        for number, handler in of_python.items():
            signal.signal(number, handler)
        for came_number, frame in came:
            of_python[signal.Signals(came_number)](came_number, frame)


@dataclass(frozen=True)
class Installer:
    """Makes environments with uv, or with venv and pip where `uv` is None."""

    uv: str | None
    run: Runner = run_command

    @property
    def name(self) -> str:
        """What it is called in messages."""
        return "uv" if self.uv else "pip"

    def make(self, python: str, folder: Path, pass_fds: Sequence[int] = ()) -> None:
        """Make an environment of a Python without packages. Raises `InstallError`."""
        if self.uv:
            command = [self.uv, "venv", "--quiet", "--no-project", "--python", python, str(folder)]
        else:
            command = [python, "-I", "-m", "venv", str(folder)]
        self._run(command, pass_fds)

    def install(self, folder: Path, arguments: Sequence[str], pass_fds: Sequence[int] = ()) -> None:
        """Install requirements into an environment, all at once. Raises `InstallError`."""
        # A quiet pip does not say which requirements conflict.
        quiet = ["--quiet"] if self.uv else []
        self._run([*self._pip_install(folder), *quiet, *arguments], pass_fds)

    def newest(self, python: str, series: str) -> str:
        """Return the newest release of a series of JAX that there is for a Python.

        Raises `InstallError`.

        Example::

            installer.newest("/usr/bin/python3.12", "0.12") == "0.12.0.1"
        """
        requirement = f"jax=={series}.*"
        with tempfile.TemporaryDirectory(prefix="constparity-newest-") as name:
            folder = Path(name)
            if self.uv:
                file = folder / "jax.in"
                file.write_text(f"{requirement}\n")
                options = ("--quiet", "--no-deps", "--no-header", "--no-annotate")
                command = [self.uv, "pip", "compile", *options, "--python", python, str(file)]
                return self._run(command).stdout.strip().removeprefix("jax==")
            report = folder / "report.json"
            self.make(python, folder / "venv")
            asked = ("--quiet", "--dry-run", "--no-deps", "--report", str(report), requirement)
            self._run([*self._pip_install(folder / "venv"), *asked])
            return str(json.loads(report.read_text())["install"][0]["metadata"]["version"])

    def _pip_install(self, folder: Path) -> list[str]:
        python = str(folder / "bin" / "python")
        if self.uv:
            return [self.uv, "pip", "install", "--python", python]
        return [python, "-I", "-m", "pip", "install"]

    def _run(self, command: Sequence[str], pass_fds: Sequence[int] = ()) -> Ran:
        ran = self.run(command, pass_fds)
        if ran.status:
            raise InstallError(f"{self.name} says: {reason(ran)}")
        return ran


def installer_found() -> Installer:
    """Return the installer of this machine."""
    return Installer(shutil.which("uv"))


def reason(ran: Ran) -> str:
    """Return why pip or uv failed: its errors, and why an index could not be reached.

    Example::

        reason(Ran(1, "", "ERROR: No matching distribution found for jax==0.99\\n"))
    """
    lines = [line.strip() for line in ran.stderr.splitlines() if line.strip()]
    errors = [line[len("ERROR: ") :] for line in lines if line.startswith("ERROR: ")]
    # pip lists the versions that other Pythons could have; this one was chosen for the JAX.
    errors = [line for line in errors if not line.startswith("Ignored the following")]
    missing = _NOT_FOUND.findall("\n".join(errors))
    if missing and (broken := _BROKEN.findall(ran.stderr)):
        # What versions pip has found then says nothing of those that there are.
        errors = [
            f"the index was not reached, so {missing[0]} cannot be installed: connect this machine"
            f", or name an index with PIP_INDEX_URL ({broken[-1]})"
        ]
    elif missing and any("(from versions: none)" in line for line in errors):
        errors.append("the index has no version of it, or pip was kept from asking one")
    if (conflict := _CONFLICT.search(ran.stdout)) is not None:
        errors[1:1] = [line.strip() for line in conflict[1].splitlines()]
    # A build that fails says so in its last lines, and so does uv.
    found = "; ".join(dict.fromkeys(errors)) or "\n".join(lines[-12:]) or ran.stdout.strip()
    shown = _ALL_VERSIONS.sub(r"(the newest: \1)", found)
    return shown[-_LONGEST:] or f"nothing, and exits with {ran.status}"
