"""What can be found out about a project without asking and without running anything of it."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from packaging.specifiers import SpecifierSet

from parity_tests.environments.find_python import KNOWN, NEWEST_MINOR, NoPythonError, minors_for
from parity_tests.jobs import ProjectError
from parity_tests.jobs.declared import declared, pytest_arguments
from parity_tests.jobs.origin import Origin
from parity_tests.marked_programs import files_with_programs
from parity_tests.processes.git import git
from parity_tests.processes.side_environment import refusal_of

System = Literal["github", "gitlab"]
SYSTEMS: dict[System, str] = {"github": ".github", "gitlab": ".gitlab-ci.yml"}  # and their files

_OLDEST_MINOR = 11  # of constparity itself


@dataclass(frozen=True)
class Versions:
    """What a job runs on: `python` as "3.13", and the releases of JAX, oldest first.

    `has_engine` says whether the engine knows these releases. If not, only stock JAX is compared,
    and only in environments of their own: constparity is not installed beside them.
    """

    python: str
    jax: tuple[str, ...]
    has_engine: bool


def suiting(
    requires_python: SpecifierSet, requires_jax: SpecifierSet, classified: Sequence[int] = ()
) -> Versions:
    """Choose the Python and the releases of JAX that a project allows, a pinned one or known ones.

    One Python runs all of them: the one that suits most, and the newest among those. `classified`
    are the minor versions that the project's classifiers name. Raises `ProjectError`.

    Example::

        suiting(SpecifierSet(">=3.11"), SpecifierSet(">=0.11")).jax == ("0.11.2", "0.12.0.1")
    """
    minors = _minors(requires_python, classified)
    pinned = [each.version for each in requires_jax if each.operator == "=="]
    allowed = [jax for jax in (*pinned, *KNOWN) if "*" not in jax and requires_jax.contains(jax)]
    known = [jax for jax in allowed if refusal_of(jax) is None]
    chosen = known or allowed
    minor = max(minors, key=lambda each: (len(_with_wheels(chosen, each)), each))
    jax = _with_wheels(chosen, minor)
    if not jax:
        raise ProjectError(
            f"the project's bounds are jax{requires_jax} and Python {requires_python or 'any'}, "
            f"and constparity knows JAX {', '.join(KNOWN)}"
        )
    return Versions(f"3.{minor}", tuple(dict.fromkeys(jax)), has_engine=bool(known))


def _minors(requires_python: SpecifierSet, classified: Sequence[int]) -> list[int]:
    """Return the minor versions of Python 3 to choose from."""
    usable = [
        minor
        for minor in range(_OLDEST_MINOR, NEWEST_MINOR + 1)
        # A bound as >=3.11.4 leaves out some releases of a minor version and not the last one.
        if requires_python.contains(f"3.{minor}.99")
    ]
    if not usable:
        raise ProjectError(
            f"requires-python is {str(requires_python)!r}, and constparity needs Python "
            f"3.{_OLDEST_MINOR} to 3.{NEWEST_MINOR}"
        )
    return [minor for minor in usable if minor in classified] or usable


def _with_wheels(releases: Sequence[str], minor: int) -> tuple[str, ...]:
    """Return the releases that constparity can use and that have wheels for a Python."""
    return tuple(jax for jax in releases if _has_wheel(jax, minor))


def _has_wheel(jax: str, minor: int) -> bool:
    try:
        first, last = minors_for(jax)
    except NoPythonError:  # it has no flag
        return False
    return first <= minor <= last


@dataclass(frozen=True)
class Fact:
    """One fact, and where it was found."""

    what: str
    value: str
    source: str


@dataclass(frozen=True)
class Facts:
    """All that the files of a job are written from.

    `constparity` are arguments of pip that install constparity, and `project` those that install
    the project with what its tests need. `with_` are the same as packages of `--with`. `programs`
    are targets of `constparity run`, and `tests` arguments of pytest; None where the project has
    none. `findings` explain each to the user.
    """

    folder: Path
    systems: tuple[System, ...]
    branch: str
    versions: Versions
    constparity: tuple[str, ...]
    installer: str
    project: tuple[str, ...]
    with_: tuple[str, ...]
    programs: tuple[str, ...]
    tests: tuple[str, ...] | None
    findings: tuple[Fact, ...]

    @property
    def runs(self) -> tuple[str, ...]:
        """The kinds of runs that the job has.

        `jax-both` says whether the flip breaks a test. `both` compares values that no test checks,
        and cannot see a test that reads jaxprs or the flag.
        """
        return (
            *(("programs",) if self.programs else ()),
            *(("jax-both", "both") if self.tests is not None else ()),
        )


def facts(folder: Path, origin: Origin, wanted: tuple[System, ...] = ()) -> Facts:
    """Find out about the project in a folder; `wanted` are the CI systems that the user names.

    `origin` says what installs constparity in the job.

    Raises `ProjectError`.

    Example::

        facts(Path("my_project"), installed_origin()).runs == ("programs", "jax-both", "both")
    """
    if not folder.is_dir():
        raise ProjectError(f"{folder} is no folder: name the folder of a project")
    if below := git(folder, "rev-parse", "--show-prefix"):
        raise ProjectError(
            f"{folder} is {below} of a git repository, and jobs are read at its top alone: run "
            "`constparity init` there"
        )
    named = declared(folder)
    chosen, of_systems = chosen_systems(folder, wanted)
    versions = suiting(named.requires_python, named.requires_jax, named.classified)
    programs = _targets(folder)
    tests, of_tests = pytest_arguments(folder)
    if tests is not None and not versions.has_engine:
        tests, of_tests = None, ""
    if not programs and tests is None and not versions.has_engine:
        raise ProjectError(
            f"{folder} allows JAX {', '.join(versions.jax)}, and pytest --constparity is installed "
            "beside a newer one: mark programs with @parity_tests.program, which run on any of them"
        )
    if not programs and tests is None:
        raise ProjectError(
            f"{folder} has neither tests nor a function that is marked with @parity_tests.program: "
            "mark one, or name the folder of the project"
        )
    branch, of_branch = _default_branch(folder)
    findings = [
        Fact("CI", ", ".join(chosen), of_systems),
        Fact("branch", branch, of_branch),
        Fact("Python", versions.python, named.of_python),
        Fact("JAX", ", ".join(versions.jax), named.of_jax),
        Fact("constparity", shlex.join(origin.arguments), origin.source),
        Fact("install", shlex.join((named.installer, *named.project)), named.of_project),
    ]
    if programs:
        findings.append(Fact("programs", shlex.join(programs), "@parity_tests.program"))
    if tests is not None:
        findings.append(Fact("tests", shlex.join(("pytest", *tests)), of_tests))
    return Facts(
        folder=folder,
        systems=chosen,
        branch=branch,
        versions=versions,
        constparity=origin.arguments,
        installer=named.installer,
        project=named.project,
        with_=named.packages,
        programs=programs,
        tests=tests,
        findings=tuple(findings),
    )


def chosen_systems(folder: Path, wanted: tuple[System, ...]) -> tuple[tuple[System, ...], str]:
    """Return the CI systems to write for, and how they were found. Raises `ProjectError`.

    Example::

        chosen_systems(Path("my_project"), ("github",)) == (("github",), "--ci")
    """
    if wanted:
        return wanted, "--ci"
    if there := {system: file for system, file in SYSTEMS.items() if (folder / file).exists()}:
        return tuple(there), ", ".join(there.values())
    remotes = git(folder, "remote", "--verbose") or ""
    hosts = tuple(system for system in SYSTEMS if f"{system}." in remotes)
    if not hosts:
        raise ProjectError(
            f"{folder} has neither .github nor .gitlab-ci.yml, and no git remote names either: "
            "say --ci github or --ci gitlab"
        )
    return hosts, "git remote"


def _default_branch(folder: Path) -> tuple[str, str]:
    """Return the branch that the remote calls its main one, and where it was found.

    Without such a remote it is `main` or `master`, else the branch that is checked out.
    """
    head = git(folder, "symbolic-ref", "--quiet", "--short", "refs/remotes/origin/HEAD")
    if head:
        return head.removeprefix("origin/"), "git: origin/HEAD"
    branches = (git(folder, "branch", "--all", "--format=%(refname:lstrip=-1)") or "").split()
    for name in ("main", "master"):
        if name in branches:
            return name, "git: a branch of this name"
    if head := git(folder, "symbolic-ref", "--quiet", "--short", "HEAD"):
        return head, "git: HEAD"
    return "main", "assumed: git names no other"


def _targets(folder: Path) -> tuple[str, ...]:
    """Return the files and folders at the top of the project that have marked programs.

    Where a file below imports from its package by dots, which it does as a module alone, each file
    below that top is named.
    """
    tops: dict[str, list[Path]] = {}
    for file in files_with_programs(folder):
        tops.setdefault(file.relative_to(folder).parts[0], []).append(file)
    return tuple(
        target
        for top, files in tops.items()
        for target in ([_target(folder, each) for each in files] if _any_by_dots(files) else [top])
    )


def _any_by_dots(files: Iterable[Path]) -> bool:
    return any(re.search(rb"(?m)^\s*from\s*\.", file.read_bytes()) for file in files)


def _target(folder: Path, file: Path) -> str:
    """Name a file, or its module where it imports from its package by dots.

    A folder of a package may have no `__init__.py`; the outermost may have none below `src`, or at
    the top of the project.
    """
    if not _any_by_dots([file]):
        return file.relative_to(folder).as_posix()
    below = [each for each in file.parents if each.is_relative_to(folder)]
    packages = [each for each in below if (each / "__init__.py").exists()]
    source = folder / "src"
    top = packages[-1].parent if packages else source if source in below else folder
    parts = file.relative_to(top).with_suffix("").parts
    return ".".join(parts[:-1] if file.stem == "__init__" else parts)
