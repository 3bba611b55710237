"""What git says of the user's repository."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

_SECONDS = 20.0
# A hook of git sets these, and they outrank the folder.
_OF_HOOKS = frozenset({"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX"})


def git(folder: Path, *arguments: str) -> str | None:
    """Return what a question to git prints; None where git, a repository or an answer is missing.

    Example::

        git(Path("my_project"), "remote") == "origin"
    """
    variables = {name: each for name, each in os.environ.items() if name not in _OF_HOOKS}
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), *arguments],
            stdin=subprocess.DEVNULL,
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
