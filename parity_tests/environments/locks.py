"""The lock of an environment: one process makes or removes it, or many use it.

The system lets go of a lock when the processes that hold it end, however they end. A maker's pip
holds it, too, so that a folder is free only when nobody writes to it any more.
"""

from __future__ import annotations

import fcntl
from collections.abc import Callable
from pathlib import Path


class FolderLock:
    """The lock of a folder. Its file stays beside the folder: a new file would be another lock."""

    def __init__(self, folder: Path) -> None:
        folder.parent.mkdir(parents=True, exist_ok=True)
        self._file = open(folder.parent / f".{folder.name}.lock", "a")  # noqa: SIM115 - see close

    def fileno(self) -> int:
        """Return the file descriptor, for a process that is to hold the lock, too."""
        return self._file.fileno()

    def share(self, on_wait: Callable[[], None] = lambda: None) -> None:
        """Hold the lock together with others; `on_wait` is called where it has to be waited for."""
        self._hold(fcntl.LOCK_SH, on_wait)

    def exclude(self, on_wait: Callable[[], None] = lambda: None) -> None:
        """Hold the lock alone."""
        self._hold(fcntl.LOCK_EX, on_wait)

    def try_to_exclude(self) -> bool:
        """Hold the lock alone, if nobody else holds it, and say whether it does."""
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def close(self) -> None:
        """Let go of the lock."""
        self._file.close()

    def __enter__(self) -> FolderLock:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _hold(self, kind: int, on_wait: Callable[[], None]) -> None:
        # Two processes that share the lock would wait for each other if each kept it meanwhile.
        fcntl.flock(self._file, fcntl.LOCK_UN)
        try:
            fcntl.flock(self._file, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            on_wait()
            fcntl.flock(self._file, kind)
