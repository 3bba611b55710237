"""Which Pythons a JAX version has wheels for, and where such a Python is installed.

The Makefile runs this file before anything is installed: `python3 find_python.py 0.12.0.1` prints
the path of a Python. So it needs the standard library only, and runs on Python 3.9.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.metadata
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
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
# Releases that the tests of constparity ran on, oldest first: docs/use/versions.md says what was
# tried on each. 0.8.0 and older break on the flag itself.
KNOWN = ("0.8.3", "0.9.2", "0.10.2", "0.11.2", "0.12.0.1")
# Later Pythons lack wheels of many packages that are used beside JAX.
NEWEST_MINOR = 13

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
    release = _numbers(found[1])
    if release < FIRST_WITH_FLAG[: len(release)]:
        raise NoPythonError(
            f"JAX {jax} has no flag jax_use_simplified_jaxpr_constants, which exists from "
            f"{'.'.join(map(str, FIRST_WITH_FLAG))} on"
        )
    return release


def _numbers(release: str) -> tuple[int, ...]:
    return tuple(int(number) for number in release.split("."))


def is_series(jax: str) -> bool:
    """Say whether a version names a series of releases, whose newest one is meant."""
    return len(release_of(jax)) == 2 and jax.replace(".", "").isdigit()


def minors_for(jax: str) -> tuple[int, int]:
    """Return the first and the last minor version of Python 3 that a JAX has wheels for.

    A JAX that is newer than this file has at least the last row's: what it asks for beyond that,
    uv says.

    Example::

        minors_for("0.10.2") == (11, 14)
    """
    release: tuple[float, ...] = release_of(jax)
    if is_series(jax):
        release = (*release, float("inf"))
    return [minors for first, minors in _WHEELS if first <= release][-1]


def find(jax: str, *, needs_venv: bool = True, up_to: int | None = None) -> InstalledPython:
    """Return the newest installed Python that a JAX version has wheels for.

    Among equals, this process's own comes first, then PATH, pyenv and uv. `needs_venv` leaves out
    Pythons without the module `venv`, and `up_to` those after Python 3.`up_to`. Raises
    `NoPythonError`.

    Example::

        find("0.12.0.1").version >= (3, 12)
    """
    first, last = minors_for(jax)
    without_venv = None
    for minor in range(min(last, up_to or last), first - 1, -1):
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


def newest() -> InstalledPython:
    """Return the installed Python that runs the newest known JAX. Raises `NoPythonError`."""
    for jax in reversed(KNOWN):
        for up_to in (NEWEST_MINOR, None):
            with contextlib.suppress(NoPythonError):
                return find(jax, up_to=up_to)
    return find(KNOWN[-1])  # which says what it needs


def on_index(python: str) -> list[str]:
    """Return the releases of JAX on pip's index, whatever Python they need, the newest first.

    The list is empty if no index was reached.

    Example::

        on_index(sys.executable)[0] == "0.12.0.1"
    """
    command = [python, "-m", "pip", "index", "versions", "--ignore-requires-python", "jax"]
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=_SECONDS
        )
    except (OSError, subprocess.TimeoutExpired):
        return []
    found = re.search(r"^Available versions: (.*)", done.stdout, re.MULTILINE)
    return found[1].split(", ") if found else []


def between(first: str, last: str, releases: Sequence[str]) -> list[str]:
    """Return the releases from one version to another, oldest first. Raises `NoPythonError`.

    Example::

        between("0.11", "0.12", ["0.12.0", "0.11.1", "0.10.2"]) == ["0.11.1", "0.12.0"]
    """
    low, high = release_of(first), release_of(last)
    known = {each: _numbers(each) for each in reversed(releases) if each.replace(".", "").isdigit()}
    found = [each for each, of in known.items() if low <= of and of[: len(high)] <= high]
    if len(found) < 2:
        raise NoPythonError(f"pip's index has no two releases of JAX from {first} to {last}")
    return found


def newer_than(jax: str, minor: int, on_index: str) -> str:
    """Say which JAX is newer than one under Python 3.`minor`, and how it can be had; "" if none is.

    Example::

        newer_than("0.12.0.1", 13, on_index="0.12.0.1") == ""
    """
    there = max(filter(None, (KNOWN[-1], on_index)), key=release_of)
    if release_of(there) <= release_of(jax):
        return ""
    first, last = minors_for(there)
    if not first <= minor <= last:
        return f"JAX {there} exists and needs {pythons_for(there)}: install one of these"
    if release_of(there) > release_of(KNOWN[-1]):
        return f"JAX {there} exists, and this constparity was tested up to {KNOWN[-1]}"
    return f"JAX {there} exists: delete the environment, and it is made with that one"


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
    asked = parser.add_mutually_exclusive_group(required=True)
    asked.add_argument("jax", nargs="?", metavar="JAX", help="one release, as 0.12.0.1")
    asked.add_argument(
        "--newest", action="store_true", help="print the folder and Python of the newest JAX"
    )
    asked.add_argument(
        "--about", metavar="FOLDER", help="say what the environment of this Python has"
    )
    parser.add_argument("python", nargs="?", help="take this Python, if the JAX has wheels for it")
    given = parser.parse_args()
    try:
        if given.about:
            _print_about(given.about)
        elif given.newest:
            _print_newest()
        else:
            if is_series(given.jax):
                raise NoPythonError(f"JAX={given.jax} names a series: write one release of it")
            found = checked(given.jax, given.python) if given.python else find(given.jax)
            print(found.path)
    except NoPythonError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def _print_newest() -> None:
    """Print variables of make; the Python of `python3` has its environment in .venv already."""
    found = newest()
    own = getattr(sys, "_base_executable", None) or sys.executable
    suffix = "" if found.path == own else f"-python3.{found.version[1]}"
    print(f"VENV=.venv{suffix} PYTHON={found.path}")


def _print_about(folder: str) -> None:
    """Say which JAX an environment has, and whether there is a newer one."""
    jax = importlib.metadata.version("jax")
    python = ".".join(map(str, sys.version_info[:3]))
    print(f"JAX {jax} on Python {python}, in {folder}")
    newer = newer_than(jax, sys.version_info[1], next(iter(on_index(sys.executable)), ""))
    if newer:
        print(f"warning: {newer}", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
