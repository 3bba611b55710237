"""What can be found out about a project without asking and without running anything of it."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path

from parity_tests.jobs import ProjectError
from parity_tests.jobs.ci_systems import System, default_branch, systems
from parity_tests.jobs.declared import declared
from parity_tests.jobs.known_releases import Versions, suiting
from parity_tests.jobs.origin import Origin
from parity_tests.jobs.pytest_command import pytest_arguments
from parity_tests.marked_programs import files_with_programs


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
    named = declared(folder)
    chosen, of_systems = _chosen(folder, wanted)
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
    branch, of_branch = default_branch(folder)
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


def _chosen(folder: Path, wanted: tuple[System, ...]) -> tuple[tuple[System, ...], str]:
    """Return the CI systems to write for, and how they were found."""
    if wanted:
        return wanted, "--ci"
    found, source = systems(folder)
    if not found:
        raise ProjectError(
            f"{folder} has neither .github nor .gitlab-ci.yml, and no git remote names either: "
            "say --ci github or --ci gitlab"
        )
    return found, source


def _targets(folder: Path) -> tuple[str, ...]:
    """Return the files and folders at the top of the project that have marked programs."""
    tops = (file.relative_to(folder).parts[0] for file in files_with_programs(folder))
    return tuple(dict.fromkeys(tops))
