"""The commit of the user's repository that a run measures, where git knows it."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

from reports.rows.history import Commit

_SECONDS = 20.0
# A hook of git sets these, and they outrank the folder.
_OF_HOOKS = frozenset({"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX"})


def commit_of(targets: Sequence[str]) -> Commit | None:
    """Return the commit of the repository that the first target on the disk lies in.

    Without one it is the repository of the working directory. None where there is no repository,
    no commit in it, or no git.

    Example::

        commit_of(["my_model.py:step"]).id
    """
    paths = (Path(each.split(":")[0] or ".") for each in targets)
    first = next((each for each in paths if each.exists()), Path())
    folder = first if first.is_dir() else first.parent
    told = _git(folder, "log", "-1", "--format=%H %cI")
    if not told:
        return None
    commit, date = told.split()
    changed = _git(folder, "status", "--porcelain", "--untracked-files=no")
    return Commit(commit, date, is_dirty=changed is None or bool(changed))


def _git(folder: Path, *arguments: str) -> str | None:
    variables = {name: each for name, each in os.environ.items() if name not in _OF_HOOKS}
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), *arguments],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_SECONDS,
            # Looking at a repository must not write its index.
            env={**variables, "GIT_OPTIONAL_LOCKS": "0"},
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None
