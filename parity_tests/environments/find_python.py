"""Which Pythons a JAX version has wheels for, and where such a Python is installed.

The Makefile runs this file before anything is installed: `python3 find_python.py 0.12.0.1` prints
the path of a Python. So it needs the standard library only, and runs on Python 3.9.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

# From this release of JAX on, jaxlib has wheels for these minor versions of Python 3.
_WHEELS = (
    ((0, 7, 0), (11, 13)),
    ((0, 7, 1), (11, 14)),
    ((0, 11, 0), (12, 14)),
    ((0, 11, 1), (12, 15)),
)
FIRST_WITH_FLAG = (0, 7, 0)

_VERSION = re.compile(r"(\d+(?:\.\d+){1,3})((?:a|b|rc)\d+|\.dev\d+)?")
# Asked of each candidate, whatever it is: a shim that leads nowhere, PyPy, a build without the GIL.
_QUESTION = """
import json, sys, sysconfig
from importlib.util import find_spec
print(json.dumps({
    "name": sys.implementation.name,
    "version": sys.version_info[:3],
    "is_final": sys.version_info.releaselevel == "final",
    "has_gil": not sysconfig.get_config_var("Py_GIL_DISABLED"),
    "has_venv": all(find_spec(module) for module in ("venv", "ensurepip")),
    "path": getattr(sys, "_base_executable", None) or sys.executable,
}))
"""
_SECONDS = 20


class NoPythonError(ValueError):
    """There is no Python for a JAX version; the message says which Python it needs."""


@dataclass(frozen=True)
class InstalledPython:
    """An installed CPython; `path` is its own, never one of a virtual environment."""

    path: str
    version: tuple[int, int, int]
    has_venv: bool

    @property
    def text(self) -> str:
        """Its version, as in "3.13.0"."""
        return ".".join(map(str, self.version))


def release_of(jax: str) -> tuple[int, ...]:
    """Return the numbers of a JAX version. Raises `NoPythonError` if constparity cannot use it.

    Two numbers name a series of releases, as "0.12" names all of 0.12.

    Example::

        release_of("0.12.0.1") == (0, 12, 0, 1)
    """
    found = _VERSION.fullmatch(jax)
    if found is None:
        raise NoPythonError(
            f"{jax!r} is no version of JAX: write one release, as 0.12.0.1, or a series, as 0.12"
        )
    release = tuple(int(number) for number in found[1].split("."))
    if release < FIRST_WITH_FLAG[: len(release)]:
        raise NoPythonError(
            f"JAX {jax} has no flag jax_use_simplified_jaxpr_constants, which exists from "
            f"{'.'.join(map(str, FIRST_WITH_FLAG))} on"
        )
    return release


def is_series(jax: str) -> bool:
    """Say whether a version names a series of releases, whose newest one is meant."""
    return len(release_of(jax)) == 2 and jax.replace(".", "").isdigit()


def minors_for(jax: str) -> tuple[int, int]:
    """Return the first and the last minor version of Python 3 that a JAX has wheels for.

    A JAX that is newer than this file has at least the last row's: what it asks for beyond that,
    pip says.

    Example::

        minors_for("0.10.2") == (11, 14)
    """
    release: tuple[float, ...] = release_of(jax)
    if is_series(jax):
        release = (*release, float("inf"))
    return [minors for first, minors in _WHEELS if first <= release][-1]


def find(jax: str, *, needs_venv: bool = True) -> InstalledPython:
    """Return the newest installed Python that a JAX version has wheels for.

    Among equals, this process's own comes first, then PATH, pyenv and uv. `needs_venv` leaves out
    Pythons without the module `venv`. Raises `NoPythonError`.

    Example::

        find("0.12.0.1").version >= (3, 12)
    """
    first, last = minors_for(jax)
    without_venv = None
    for minor in range(last, first - 1, -1):
        for candidate in _candidates(minor):
            found = _asked(candidate)
            if found is None or found.version[:2] != (3, minor):
                continue
            if found.has_venv or not needs_venv:
                return found
            without_venv = without_venv or found
    if without_venv is not None:
        raise NoPythonError(
            f"JAX {jax} needs {pythons_for(jax)}; {without_venv.path} has no module venv (Debian "
            f"has it in python3.{without_venv.version[1]}-venv)"
        )
    raise NoPythonError(
        f"JAX {jax} needs {pythons_for(jax)}, and none was found on PATH, in pyenv's folder or in "
        f"uv's; install one, as with `uv python install 3.{first + 1}` or pyenv"
    )


def checked(jax: str, python: str) -> InstalledPython:
    """Return the Python that a user names, if a JAX version has wheels for it.

    A name as python3.12 is looked for where `find` looks, too. Raises `NoPythonError`.
    """
    first, last = minors_for(jax)
    named = re.fullmatch(r"python3\.(\d+)", python)
    places = [shutil.which(python), *(_candidates(int(named[1])) if named else ())]
    found = next(filter(None, map(_asked, filter(None, places))), None)
    if found is None:
        raise NoPythonError(f"{python} is no CPython that can be run")
    if not (found.version[0] == 3 and first <= found.version[1] <= last):
        raise NoPythonError(
            f"JAX {jax} needs {pythons_for(jax)}, and {python} is Python {found.text}"
        )
    return found


def pythons_for(jax: str) -> str:
    """Return the Pythons that a JAX version has wheels for, as in "Python 3.12 to 3.15"."""
    return "Python 3.{} to 3.{}".format(*minors_for(jax))


def _candidates(minor: int) -> Iterator[str]:
    """Yield the files that could be Python 3.`minor`, each once, links to the same file too."""
    name = f"python3.{minor}"
    home = Path.home()
    pyenv = Path(os.environ.get("PYENV_ROOT") or home / ".pyenv") / "versions"
    data = Path(os.environ.get("XDG_DATA_HOME") or home / ".local" / "share")
    uv = Path(os.environ.get("UV_PYTHON_INSTALL_DIR") or data / "uv" / "python")
    paths = [Path(folder) / name for folder in os.get_exec_path()]
    for folder, pattern in ((pyenv, f"3.{minor}.*"), (uv, f"cpython-3.{minor}.*")):
        paths += [each / "bin" / name for each in sorted(folder.glob(pattern), key=_newest_first)]
    if sys.version_info[:2] == (3, minor):
        paths.insert(0, Path(sys.executable))
    seen = set()
    for path in paths:
        if os.access(path, os.X_OK) and (real := path.resolve()) not in seen:
            seen.add(real)
            yield str(path)


def _newest_first(folder: Path) -> list[int]:
    return [-int(number) for number in re.findall(r"\d+", folder.name)]


def _asked(candidate: str) -> InstalledPython | None:
    """Ask a file which Python it is; None if it is no CPython, or not one that JAX supports."""
    try:
        done = subprocess.run(
            [candidate, "-I", "-c", _QUESTION],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_SECONDS,
        )
        answer = json.loads(done.stdout)
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return None
    if answer["name"] != "cpython" or not answer["is_final"] or not answer["has_gil"]:
        return None
    major, minor, patch = answer["version"]
    return InstalledPython(answer["path"], (major, minor, patch), answer["has_venv"])


def main() -> int:
    """Print the path of a Python for a JAX version, for the Makefile."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("jax", metavar="JAX", help="one release, as 0.12.0.1")
    parser.add_argument("python", nargs="?", help="take this Python, if the JAX has wheels for it")
    given = parser.parse_args()
    try:
        if is_series(given.jax):
            raise NoPythonError(f"JAX={given.jax} names a series: write one release of it")
        found = checked(given.jax, given.python) if given.python else find(given.jax)
    except NoPythonError as error:
        print(error, file=sys.stderr)
        return 1
    print(found.path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
