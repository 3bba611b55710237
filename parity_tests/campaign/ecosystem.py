"""One third-party library: its own test-suite, and the programs that this compiles.

A library of a spec is fetched as its source distribution, which has the tests, and installed in an
environment of its own. Its suite runs there in shadow mode, which writes each program that a test
compiles to a file. These files stand alone, so every environment of the campaign can run them. The
folder of a library is locked meanwhile, for campaigns of one store have it in common.
"""

from __future__ import annotations

import contextlib
import fnmatch
import hashlib
import os
import re
import shutil
import signal
import subprocess
import tarfile
import time
import xml.etree.ElementTree as ElementTree
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from packaging.utils import canonicalize_name
from pydantic import ValidationError

from parity_tests.campaign.spec import LibrarySpec, SpecError
from parity_tests.environments.find_python import NoPythonError
from parity_tests.environments.installers import run_command
from parity_tests.environments.making import MakingError, environment_for
from parity_tests.environments.requirements import RequirementError
from parity_tests.environments.store import FolderLock
from parity_tests.observe.environment import version
from parity_tests.processes.protocol import write
from parity_tests.processes.side_environment import FOLDER
from reports.rows import Row
from reports.views.texts import counted

Say = Callable[[str], None]
_PASSED, _FAILED = 0, 1  # what pytest exits with when the suite has run
_NEEDS = ("pip", "pytest")  # pip fetches the source; uv makes environments without it
# Packages whose version a constraints file need not have: the campaign names that of JAX, and pip
# and setuptools come with the Python.
_NAMED_ELSEWHERE = {"constparity", "jax", "jaxlib", "pip", "setuptools"}
_NAME = re.compile(r"\s*([\w.-]+)")  # how a line of a constraints file begins


class LibraryError(SpecError):
    """A library left no programs; `why` says what did not work, and what helps."""

    def __init__(self, library: LibrarySpec, why: str) -> None:
        super().__init__(f"library {library.name!r}: {why}")
        self.why = why


class Gathered(Row):
    """What the suite of a library came to; written last, so a folder that has it is whole."""

    library: LibrarySpec
    exit_status: int
    programs: int
    failures: tuple[str, ...]  # that are not known, as "class::test"


@dataclass(frozen=True)
class Programs:
    """The folder with the programs of a library, and what its suite came to."""

    folder: Path
    gathered: Gathered


class _Place(NamedTuple):
    """The folder of a library, named by what it is made of, and what lies in it."""

    folder: Path
    marker: Path  # written last
    source: Path  # the source distribution
    programs: Path  # that the suite compiled
    results: Path  # the outcomes of the tests, as JUnit XML
    log: Path  # what pytest printed

    @classmethod
    def of(cls, library: LibrarySpec, parent: Path, jax: str) -> _Place:
        """Return the folder of a library in `parent`."""
        what = f"{library.model_dump_json()} {jax} {version()}"
        digest = hashlib.sha256(what.encode()).hexdigest()[:10]
        folder = parent / f"{library.name}-{library.version}-{digest}"
        return cls(
            folder,
            marker=folder / "gathered.json",
            source=folder / "source",
            programs=folder / "programs",
            results=folder / "junit.xml",
            log=folder / "pytest.log",
        )

    def found(self) -> Programs | None:
        """Return the programs; None where they are not all there."""
        try:
            gathered = Gathered.model_validate_json(self.marker.read_bytes())
        except (FileNotFoundError, ValidationError):
            return None
        return Programs(self.programs, gathered)


@dataclass(frozen=True)
class Suite:
    """The suite of a library at work; `lock` is that of its folder."""

    library: LibrarySpec
    place: _Place
    lock: FolderLock
    process: subprocess.Popen[bytes]
    begun: float

    def programs(self, say: Say) -> Programs | None:
        """Return the programs of the suite; None while it runs. Raises `LibraryError`."""
        status = self.process.poll()
        limit = self.library.suite_timeout
        if status is not None:
            try:
                return _ended(self.library, self.place, status, say)
            finally:  # the folder may be another's from now on, and its programs are marked
                self.end()
        if time.monotonic() - self.begun <= limit:
            return None
        self.end()
        raise LibraryError(
            self.library,
            f"its suite has not ended in {limit:g} seconds; name fewer tests, or a larger "
            f"suite_timeout; see {self.place.log}",
        )

    def end(self) -> None:
        """End its processes, and let go of its folder."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self.lock.close()


def gather(
    library: LibrarySpec, folder: Path, jax: str, say: Say, *, may_wait: bool = True
) -> Programs | Suite | None:
    """Return the programs of a library's suite, or else the suite, which runs.

    Without `may_wait` it is None where another campaign has the folder of the library. Raises
    `LibraryError`, which names the library, what did not work, and where the suite's output is.

    Example::

        gather(library, Path("ecosystem"), "0.10.2", print)
    """
    place, suite = _Place.of(library, folder, jax), None
    lock = FolderLock(place.folder)
    try:
        if not lock.try_to_exclude():
            if not may_wait:
                return None
            lock.exclude(
                lambda: say(
                    f"{library.name} {library.version}: waiting for another campaign, "
                    f"which runs its suite in {place.folder}"
                )
            )
        if (found := place.found()) is not None:
            return found
        shutil.rmtree(place.folder, ignore_errors=True)
        place.folder.mkdir(parents=True)
        python = _python_with(library, jax, say)
        root = _source_of(library, place, python)
        _bound(root)
        say(f"{library.name} {library.version}: running its test-suite")
        with open(place.log, "wb") as log:
            process = subprocess.Popen(
                _suite_command(library, place, python),
                cwd=root,
                env={k: v for k, v in os.environ.items() if not k.startswith("PYTEST_")},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                pass_fds=(lock.fileno(),),  # where the campaign is killed, the suite has its folder
                start_new_session=True,  # Ctrl-C is for the parent, which then kills the group
            )
        suite = Suite(library, place, lock, process, time.monotonic())
        return suite
    finally:
        if suite is None:
            lock.close()


def _ended(library: LibrarySpec, place: _Place, status: int, say: Say) -> Programs:
    """Return the programs of a suite that has ended with an exit status."""
    programs = len(list(place.programs.glob("*.py"))) if place.programs.exists() else 0
    if status not in (_PASSED, _FAILED) or not programs:
        raise LibraryError(
            library, f"its suite wrote no programs (exit status {status}); see {place.log}"
        )
    failures = _failures(library, place)
    said = (
        f"; {len(failures)} tests fail that are not known to, as {failures[0]}" if failures else ""
    )
    say(f"{library.name} {library.version}: {counted(programs, 'program')}{said}")
    found = Gathered(library=library, exit_status=status, programs=programs, failures=failures)
    write(place.marker, found.model_dump_json(by_alias=True))
    return Programs(place.programs, found)


def _python_with(library: LibrarySpec, jax: str, say: Say) -> Path:
    """Return the Python of an environment with a library, what its tests need, and constparity."""
    own = (
        str(FOLDER)
        if (FOLDER / "pyproject.toml").exists()
        else f"constparity=={version().partition('+')[0]}"
    )
    try:
        made = environment_for(jax, (*library.packages, *_NEEDS, own), say=say)
    except (NoPythonError, RequirementError, MakingError) as error:
        raise LibraryError(library, str(error)) from error
    if library.constraints is not None:
        lines = library.constraints.lines.splitlines()
        if missing := ", ".join(_not_named(made.packages, lines)):
            file = library.constraints.file
            say(f"library {library.name!r}: {file} names no version of {missing}")
    return made.python


def _not_named(packages: Sequence[str], lines: Sequence[str]) -> list[str]:
    """Return the installed packages that a constraints file has no line for."""
    named = {canonicalize_name(found[1]) for line in lines if (found := _NAME.match(line))}
    names = (canonicalize_name(each.partition("==")[0]) for each in packages)
    return [name for name in names if name not in named | _NAMED_ELSEWHERE]


def _source_of(library: LibrarySpec, place: _Place, python: Path) -> Path:
    """Fetch and unpack the source distribution of a library, and return its root."""
    what = f"{library.name}=={library.version}"
    pip = [str(python), "-m", "pip", "download", "-q", "--no-deps", "--no-binary", ":all:"]
    ran = run_command([*pip, "-d", str(place.folder), what])
    archives = [*place.folder.glob("*.tar.gz"), *place.folder.glob("*.zip")]
    if ran.status or not archives:
        last = " ".join(ran.stderr.strip().splitlines()[-1:])
        raise LibraryError(
            library,
            f"no source distribution of {what} ({last}); check its name and version, and that the "
            "index can be reached",
        )
    try:
        if archives[0].suffix == ".zip":
            with zipfile.ZipFile(archives[0]) as zipped:
                zipped.extractall(place.source)
        else:
            with tarfile.open(archives[0]) as archive:
                archive.extractall(place.source, filter="data")
    except (OSError, tarfile.TarError, zipfile.BadZipFile) as error:
        raise LibraryError(library, f"{archives[0]} is damaged: {error}; fetch it anew") from error
    roots = [each for each in place.source.iterdir() if each.is_dir()]
    return roots[0] if len(roots) == 1 else place.source


def _bound(root: Path) -> None:
    """Have pytest look for settings no further up than here: a suite has none of another project.

    pytest takes the first of its files that has a section for it, and looks at setup.cfg last in
    each folder. Our plugin takes the first pyproject.toml.
    """
    (root / "pyproject.toml").touch()
    last = root / "setup.cfg"
    content = last.read_bytes() if last.exists() else b""
    if b"[tool:pytest]" not in content:
        last.write_bytes(content + b"\n[tool:pytest]\n")


def _suite_command(library: LibrarySpec, place: _Place, python: Path) -> list[str]:
    """Return what runs the tests of a library in shadow mode."""
    return [
        str(python), "-m", "pytest", "-q", "-p", "no:cacheprovider", "-o", "addopts=",
        "--constparity=both", f"--constparity-collect={place.programs.absolute()}",
        f"--junitxml={place.results.absolute()}",
        *(f"--deselect={each}" for each in library.deselect), *library.tests,
    ]  # fmt: skip


def _failures(library: LibrarySpec, place: _Place) -> tuple[str, ...]:
    """Return the tests that failed, and that are not known to fail anyway."""
    known = [glob for each in library.known for glob in each.tests]
    cases = ElementTree.parse(place.results).iter("testcase")
    failed = [
        f"{case.get('classname', '')}::{case.get('name', '')}"
        for case in cases
        if case.find("failure") is not None or case.find("error") is not None
    ]
    return tuple(
        name for name in failed if not any(fnmatch.fnmatchcase(name, glob) for glob in known)
    )
