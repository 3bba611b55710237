"""Other interpreters that sides run in: what they are, and what they lack."""

from __future__ import annotations

import functools
import json
import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from parity_tests.processes.side_environment import with_our_packages, with_packages
from reports.rows.row import Row

OLDEST = (3, 11)
# What a process of a side imports, by names that are those of pip as well.
NEEDED = ("jax", "jaxlib", "numpy", "pydantic")
FOR_RELOAD = ("flatbuffers",)  # which exports are written with
_SECONDS = 60.0

# Runs in any Python from 2.7 on, and imports none of the packages that it looks for.
_PROBE = """
import json, sys
try:
    from importlib.util import find_spec
except ImportError:
    find_spec = lambda name: None
try:
    from importlib.metadata import version
    jax = version("jax")
except ImportError:
    jax = ""
print(json.dumps({
    "jax": jax,
    "version": list(sys.version_info[:3]),
    "missing": [name for name in sys.argv[1:] if find_spec(name) is None],
    "path": sys.path,
}))
"""


class InterpreterError(ValueError):
    """Sides cannot run in an interpreter: `what` names it and what it lacks, then what to do."""

    def __init__(self, what: str, to_do: str = "") -> None:
        super().__init__(f"{what}; {to_do}" if to_do else what)
        self.what = what
        self.to_do = to_do


class _Probed(Row):
    version: tuple[int, ...]
    missing: tuple[str, ...]
    path: tuple[str, ...]
    jax: str


@dataclass(frozen=True)
class Versions:
    """The versions of JAX and of Python of an interpreter."""

    jax: str
    python: str


def interpreter_at(path: str, also: Sequence[str] = (), *, needed: Sequence[str] = NEEDED) -> Path:
    """Return the interpreter at a path; a virtual environment is the folder of its interpreter.

    `also` are packages that it needs besides `needed`, those of a process of a side. Raises
    `InterpreterError` where it is no interpreter, is too old, or lacks a package.

    Example::

        interpreter_at("~/jax-0.12/bin/python")
    """
    python = _executable(path)
    try:
        found = _probed(python, (*needed, *also))
    except (OSError, subprocess.SubprocessError, InterpreterError) as error:
        raise InterpreterError(f"{path!r} is no Python interpreter: {_said(error)}") from error
    if found.version < OLDEST:
        oldest, version = (".".join(map(str, each)) for each in (OLDEST, found.version))
        raise InterpreterError(f"{path!r} is Python {version}, and sides need {oldest} or newer")
    if found.missing:
        missing = " ".join(found.missing)
        raise InterpreterError(
            f"{path!r} lacks {missing.replace(' ', ', ')}",
            f"constparity installs nothing: {python} -m pip install {missing}",
        )
    return python


def versions_of(python: Path) -> Versions:
    """Return what an interpreter that `interpreter_at` found runs.

    Example::

        versions_of(interpreter_at("~/jax-0.12")) == Versions("0.12.0.1", "3.12.1")
    """
    found = _probed(python)
    return Versions(found.jax, ".".join(map(str, found.version)))


def missing_in(python: Path, packages: Sequence[str]) -> tuple[str, ...]:
    """Return those packages that an interpreter that `interpreter_at` found does not find.

    Example::

        missing_in(interpreter_at("~/jax-0.12"), ["flax"]) == ("flax",)
    """
    return _probed(python, packages).missing


def _executable(path: str) -> Path:
    given = Path(path).expanduser()
    if given.is_dir():
        inside = [given / "bin" / "python", given / "Scripts" / "python.exe"]
        python = next((each for each in inside if each.is_file()), None)
        if python is None:
            raise InterpreterError(
                f"{path!r} is a folder and no virtual environment: it has no bin/python"
            )
        given = python
    elif os.sep not in path and not given.exists() and (found := shutil.which(path)):
        given = Path(found)
    if not given.exists():
        raise InterpreterError(f"{path!r} does not exist", "name a Python by its path")
    # Not resolved: the interpreter of a virtual environment is a link to another one.
    return given.absolute()


def _probed(python: Path, needed: Sequence[str] = (), *, without: str = "PYTHONHOME") -> _Probed:
    """Ask an interpreter what it is; `without` is a variable that it does not inherit."""
    environment = {name: value for name, value in os.environ.items() if name != without}
    done = subprocess.run(
        [str(python), "-c", _PROBE, *needed],
        env=environment,
        cwd=python.parent,  # nothing of the user lies here
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=_SECONDS,
        check=True,
    )
    last = next(reversed(done.stdout.splitlines()), "")  # it may print more when it starts
    try:
        return _Probed.model_validate_json(last)
    except ValidationError as error:
        raise InterpreterError("it does not answer as Python does") from error


def _said(error: Exception) -> str:
    if isinstance(error, subprocess.CalledProcessError):
        last = next(reversed((error.stderr or "").strip().splitlines()), "")
        return f"exit status {error.returncode}{last and f': {last}'}"
    if isinstance(error, OSError):
        return error.strerror or str(error)
    return str(error)


@functools.cache
def _own_paths() -> frozenset[str]:
    """Return the paths that this interpreter has by itself, its installed packages among them."""
    scripts = sysconfig.get_path("scripts")  # which holds the command that was called
    own = _probed(Path(sys.executable), without="PYTHONPATH")
    return frozenset((*own.path, scripts))


def user_paths() -> tuple[str, ...]:
    """Return the paths of this process that it does not have from its interpreter.

    A process of another interpreter gets these, and not what is installed here.
    """
    return tuple(entry for entry in sys.path if entry not in _own_paths())


# -- a file of ours, run in an interpreter ---------------------------------------------------------

_SECONDS_OF_A_FILE = 120.0


class FileFailedError(RuntimeError):
    """The file printed no JSON; the message is the last line of what it said."""


def run_file(
    file: Path,
    python: Path | None = None,
    *,
    arguments: Sequence[str] = (),
    environment: Mapping[str, str] = os.environ,
    seconds: float = _SECONDS_OF_A_FILE,
) -> Any:
    """Run a file, without its folder on the path, and return what its last line of output says.

    It finds our packages. The interpreter `python`, by default this one, finds nothing else of what
    is installed beside them. `arguments` are the last ones of its `sys.argv`. Raises
    `FileFailedError`.
    """
    # -P: modules that lie beside the file have names that others import, as "arrays" and "names".
    if python is None:
        command = [sys.executable, "-P", str(file)]
        environment = with_our_packages(environment)
    else:
        command = [str(python), "-P", *with_packages(file)]
        environment = {name: text for name, text in environment.items() if name != "PYTHONHOME"}
    try:
        done = subprocess.run(
            [*command, *arguments],
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=seconds,
        )
    except subprocess.TimeoutExpired as error:
        raise FileFailedError(f"no end in {seconds:g} seconds") from error
    lines = done.stdout.splitlines()
    if done.returncode or not lines:
        said = _last_line_of_error(done.stderr) or f"exit status {done.returncode}"
        raise FileFailedError(said)
    return json.loads(lines[-1])


def _last_line_of_error(said: str) -> str:
    """Return the exception of a traceback; JAX prints a remark after it, below dashes."""
    lines = [line for line in said.split("\n----", 1)[0].splitlines() if line.strip()]
    return lines[-1] if lines else ""
