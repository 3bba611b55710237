"""Makes virtual environments and installs packages, with uv, of the extra `environments`.

The Makefile runs this file beside uv alone: `python installers.py .venv flax`. So it needs the
standard library only.
"""

from __future__ import annotations

import ast
import contextlib
import importlib.util
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

# With one of these, packages of another Python would be taken for installed, or go elsewhere.
_LEFT_OUT = (
    "PIP_PREFIX", "PIP_PYTHON", "PIP_ROOT", "PIP_TARGET", "PYTHONHOME", "PYTHONPATH",
    "UV_SYSTEM_PYTHON", "VIRTUAL_ENV", "__PYVENV_LAUNCHER__",
)  # fmt: skip
_SET = {"PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_NO_INPUT": "1", "PIP_USER": "0"}
_LONGEST = 1500  # characters of a reason
_WHERE = (
    "packages come from PyPI, unless settings of uv or pip name an index (UV_DEFAULT_INDEX or "
    "PIP_INDEX_URL, uv.toml or pip.conf)"
)

# Settings of pip, and the variables that say the same to uv: where packages are ...
_INDEXES_OF_PIP = {
    "index-url": "UV_DEFAULT_INDEX",
    "extra-index-url": "UV_INDEX",
    "find-links": "UV_FIND_LINKS",
}
# ... and how they are reached.
_CONNECTION_OF_PIP = {
    "cert": "SSL_CERT_FILE",
    "client-cert": "SSL_CLIENT_CERT",
    "default-timeout": "UV_HTTP_TIMEOUT",
    "keyring-provider": "UV_KEYRING_PROVIDER",
    "proxy": "ALL_PROXY",
    "timeout": "UV_HTTP_TIMEOUT",
    "trusted-host": "UV_INSECURE_HOST",
}
# Who sets one of these has told uv where packages are.
_INDEXES_OF_UV = (
    *_INDEXES_OF_PIP.values(), "UV_CONFIG_FILE", "UV_EXTRA_INDEX_URL", "UV_INDEX_URL",
)  # fmt: skip


class InstallError(ValueError):
    """uv failed; the message has its reason."""


@dataclass(frozen=True)
class Ran:
    """How a command ended, and what it printed."""

    status: int
    stdout: str
    stderr: str


def run_command(
    command: Sequence[str],
    pass_fds: Sequence[int] = (),
    variables: Mapping[str, str] | None = None,
) -> Ran:
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
                env={**environment, **_SET, **(variables or {})},
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


def make(python: str, folder: Path, pass_fds: Sequence[int] = ()) -> None:
    """Make an environment of a Python without packages. Raises `InstallError`."""
    _uv(["venv", "--quiet", "--no-project", "--python", python, str(folder)], pass_fds)


def install(folder: Path, arguments: Sequence[str], pass_fds: Sequence[int] = ()) -> None:
    """Install requirements into an environment, all at once. Raises `InstallError`."""
    command = ["pip", "install", "--quiet", "--python", str(folder / "bin" / "python")]
    _resolve([*command, *arguments], pass_fds)


def newest(python: str, series: str) -> str:
    """Return the newest release of a series of JAX that there is for a Python.

    Raises `InstallError`.

    Example::

        newest("/usr/bin/python3.12", "0.12") == "0.12.0.1"
    """
    with tempfile.TemporaryDirectory(prefix="constparity-newest-") as folder:
        file = Path(folder) / "jax.in"
        file.write_text(f"jax=={series}.*\n")
        options = ("--quiet", "--no-deps", "--no-header", "--no-annotate")
        ran = _resolve(["pip", "compile", *options, "--python", python, str(file)])
    return ran.stdout.strip().removeprefix("jax==")


def _resolve(arguments: Sequence[str], pass_fds: Sequence[int] = ()) -> Ran:
    """Run uv with what pip's settings say about packages."""
    more, variables = pip_settings()
    try:
        return _uv([*arguments, *more], pass_fds, variables)
    except InstallError as error:
        raise InstallError(f"{error}\n{_WHERE}") from error


def _uv(
    arguments: Sequence[str],
    pass_fds: Sequence[int] = (),
    variables: Mapping[str, str] | None = None,
) -> Ran:
    ran = run_command([uv_path(), *arguments], pass_fds, variables)
    if ran.status:
        raise InstallError(f"uv says: {_reason(ran)}")
    return ran


def uv_path() -> str:
    """Return the path of uv. Raises `InstallError` where it is not installed."""
    try:
        from uv import find_uv_bin

        return str(find_uv_bin())
    except (ImportError, FileNotFoundError) as error:
        what = "making it needs uv: install constparity[environments]"
        raise InstallError(what) from error


def _reason(ran: Ran) -> str:
    """Return why a command failed: the last lines that it printed."""
    lines = [line.rstrip() for line in ran.stderr.splitlines() if line.strip()]
    found = "\n".join(lines[-12:]) or ran.stdout.strip()
    return found[-_LONGEST:] or f"nothing, and exits with {ran.status}"


def pip_settings() -> tuple[list[str], dict[str, str]]:
    """Return what pip's settings say that uv does not know, as arguments and variables of uv.

    They are those of `pip config list`. Where uv has an index of its own, in a variable or in a
    uv.toml of the user or the system, pip's are left out. Raises `InstallError` where pip cannot
    read its settings.

    Example::

        pip_settings() == ([], {"ALL_PROXY": "http://proxy.example:3128"})
    """
    if importlib.util.find_spec("pip") is None:
        return [], {}
    ran = run_command([sys.executable, "-I", "-m", "pip", "config", "list"])
    if ran.status:
        raise InstallError(f"pip cannot read its settings: {_reason(ran)}")
    said = _as_pip_orders(ran.stdout)
    arguments = [part for file in said.get("constraint", "").split() for part in ("-c", file)]
    variables = {to: said[name] for name, to in _CONNECTION_OF_PIP.items() if name in said}
    indexes = {to: said[name] for name, to in _INDEXES_OF_PIP.items() if name in said}
    if _uv_has_indexes():
        indexes = {}
    elif said.get("no-index", "").lower() in ("1", "true", "yes", "on"):
        arguments.append("--no-index")
    if "UV_FIND_LINKS" in indexes:
        indexes["UV_FIND_LINKS"] = ",".join(indexes["UV_FIND_LINKS"].split())
    if indexes:
        # pip takes the best version of all indexes, uv by default those of the first that has any.
        variables |= indexes | {"UV_INDEX_STRATEGY": "unsafe-best-match"}
    return arguments, {name: each for name, each in variables.items() if name not in os.environ}


def _as_pip_orders(listed: str) -> dict[str, str]:
    """Return the settings of `pip install`: those of its section hold over global ones."""
    said: dict[str, dict[str, str]] = {"global": {}, "install": {}, ":env:": {}}
    for line in listed.splitlines():
        name, _, value = line.partition("=")
        section, _, key = name.rpartition(".")
        if section in said:
            said[section][key] = " ".join(str(ast.literal_eval(value)).split())
    return said["global"] | said["install"] | said[":env:"]


def _uv_has_indexes() -> bool:
    """Say whether somebody has told uv where packages are."""
    home = os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
    folders = (home, *os.environ.get("XDG_CONFIG_DIRS", "/etc/xdg").split(":"), "/etc")
    return any(name in os.environ for name in _INDEXES_OF_UV) or any(
        (Path(folder) / "uv" / "uv.toml").is_file() for folder in folders
    )


if __name__ == "__main__":
    try:
        install(Path(sys.argv[1]), sys.argv[2:])
    except InstallError as error:
        sys.exit(str(error))
