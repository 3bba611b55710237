"""Changes of files: shown as a unified diff first, then written whole or not at all."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from reports import write_atomically


@dataclass(frozen=True)
class Change:
    """What a file of a project is, and what it would be; `before` is None where there is none."""

    path: Path
    before: str | None
    after: str


@dataclass(frozen=True)
class Kept:
    """A file that stays as it is, and why."""

    path: Path
    reason: str


def diff_of(changes: Sequence[Change]) -> str:
    """Return the changes as one patch, which `git apply` and `patch -p1` take.

    Example::

        diff_of([Change(Path("a"), None, "x\\n")]).startswith("--- /dev/null")
    """
    return "".join(line for change in changes for line in _lines(change))


def apply(folder: Path, changes: Sequence[Change]) -> None:
    """Write the changes below a folder. Raises OSError where a file cannot be written.

    A file that was changed since the diff was shown is an error, for nobody has agreed to that.
    """
    for change in changes:
        if content_of(folder / change.path) != change.before:
            raise OSError(f"{folder / change.path} was changed in the meantime: run it again")
    for change in changes:
        write_atomically(folder / change.path, change.after)


def content_of(file: Path) -> str | None:
    """Return the text of a file with its own line ends; None where there is no such file."""
    try:
        return file.read_bytes().decode("utf-8")
    except FileNotFoundError:
        return None


def _lines(change: Change) -> Iterator[str]:
    before = (change.before or "").splitlines(keepends=True)
    after = change.after.splitlines(keepends=True)
    name = change.path.as_posix()
    fromfile = "/dev/null" if change.before is None else f"a/{name}"
    for line in difflib.unified_diff(before, after, fromfile, f"b/{name}"):
        yield line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"
