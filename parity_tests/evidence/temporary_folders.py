"""Temporary folders that do not outlive their process by more than the next start of another.

A folder is held by a lock on a file in it, which the system lets go of when its process ends,
however it ends. A number of the process in the name was the alternative: processes in containers
that share a temporary folder have the same numbers.
"""

from __future__ import annotations

import contextlib
import fcntl
import functools
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

_PREFIX = "constparity-"
_HELD = ".held"


@contextlib.contextmanager
def temporary_folder(use: Literal["", "cache-", "fuzz-", "reduce-"] = "") -> Iterator[Path]:
    """Hold a temporary folder, which is deleted with what it holds when the block ends.

    What a worker that is being ended still writes into it stays until the next start: the first
    folder of a process also deletes those that others left.
    """
    _delete_abandoned_once()
    folder = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{use}"))
    try:
        with _held(folder):
            yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        with contextlib.suppress(FileNotFoundError):
            (folder / _HELD).touch()  # held by nobody: the next start deletes what is left


@contextlib.contextmanager
def _held(folder: Path) -> Iterator[None]:
    """Hold the lock of a folder. Its file is locked before it has its name, so nobody is first."""
    being_made = folder / f"{_HELD}.part"
    with open(being_made, "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        being_made.rename(folder / _HELD)
        yield


def delete_abandoned() -> None:
    """Delete the temporary folders of processes that were killed."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        # Another user's folder, or one that another process deletes at this moment.
        with contextlib.suppress(OSError), open(folder / _HELD, "r+") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(folder, ignore_errors=True)


@functools.cache
def _delete_abandoned_once() -> None:
    delete_abandoned()
