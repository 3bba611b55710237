"""Which CI system a project uses, and its main branch, from its files and from git."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Literal

System = Literal["github", "gitlab"]
SYSTEMS: tuple[System, ...] = ("github", "gitlab")


def systems(folder: Path) -> tuple[tuple[System, ...], str]:
    """Return the CI systems of a project, and where they were found; none where nothing says it.

    Example::

        systems(Path("my_project")) == (("github",), ".github")
    """
    files: dict[System, str] = {"github": ".github", "gitlab": ".gitlab-ci.yml"}
    there = {system: file for system, file in files.items() if (folder / file).exists()}
    if there:
        return tuple(there), ", ".join(there.values())
    remotes = git(folder, "remote", "--verbose")
    hosts = tuple(system for system in SYSTEMS if f"{system}." in remotes)
    return hosts, "git remote"


def default_branch(folder: Path) -> tuple[str, str]:
    """Return the branch that the remote calls its main one, and where it was found.

    Without such a remote it is `main` or `master`, else the branch that is checked out.

    Example::

        default_branch(Path("my_project")) == ("main", "git")
    """
    head = git(folder, "symbolic-ref", "--quiet", "--short", "refs/remotes/origin/HEAD")
    if head:
        return head.removeprefix("origin/"), "git: origin/HEAD"
    branches = git(folder, "branch", "--all", "--format=%(refname:lstrip=-1)").split()
    for name in ("main", "master"):
        if name in branches:
            return name, "git: a branch of this name"
    if head := git(folder, "symbolic-ref", "--quiet", "--short", "HEAD"):
        return head, "git: HEAD"
    return "main", "assumed: git names no other"


def git(folder: Path, *arguments: str) -> str:
    """Return what a question to git prints; "" where git, the repository or the answer is missing.

    Example::

        git(Path("my_project"), "remote") == "origin"
    """
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), *arguments],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=20,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return "" if done.returncode else done.stdout.strip()
