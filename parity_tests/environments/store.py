"""The folder that environments are kept in, and which of them are finished.

An environment is a folder. Its maker writes a marker into it last, and a remover deletes the marker
first, so a folder with a marker is whole. Environments cannot be moved, so none is made elsewhere
and renamed.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError


class FolderLock:
    """The lock of a folder: one process makes or removes it, or many use it.

    The system lets go of a lock when the processes that hold it end, however they end. A maker's uv
    holds it, too, so that a folder is free only when nobody writes to it any more. The file of the
    lock stays beside the folder: a new file would be another lock.
    """

    def __init__(self, folder: Path) -> None:
        folder.parent.mkdir(parents=True, exist_ok=True)
        file = folder.parent / f".{folder.name}.lock"
        try:
            self._file = open(file, "a")  # noqa: SIM115 - see close
        except OSError:  # of a store that somebody else has made, for others to read
            if not file.exists():
                raise
            self._file = open(file)  # noqa: SIM115

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


FOLDER_VARIABLE = "CONSTPARITY_ENVIRONMENTS"
MARKER = "constparity-environment.json"


class Environment(BaseModel):
    """A finished environment, as its marker describes it.

    `requested` identifies what it was made for. `packages` are all that it has, with their
    versions, and `with_` those of them that the user asked for.
    """

    model_config = ConfigDict(frozen=True)

    path: Path
    requested: str
    jax: str
    jaxlib: str
    python_version: str
    with_: tuple[str, ...]
    packages: tuple[str, ...]
    made: datetime

    @property
    def name(self) -> str:
        """The name of its folder."""
        return self.path.name

    @property
    def python(self) -> Path:
        """Its interpreter, which is not resolved: a link to another one tells Python the folder."""
        return self.path / "bin" / "python"


@dataclass(frozen=True)
class Kept:
    """A folder of the store: `environment` is None where it is not finished.

    `is_held` says whether a process uses it, or is making it.
    """

    path: Path
    environment: Environment | None
    is_held: bool

    @property
    def name(self) -> str:
        """The name of the folder."""
        return self.path.name


def store_folder() -> Path:
    """Return the folder that environments are kept in: the user's cache, unless it is set.

    Example::

        store_folder() == Path("~/.cache/constparity/environments").expanduser()
    """
    if given := os.environ.get(FOLDER_VARIABLE):
        return Path(given).expanduser().absolute()
    if sys.platform == "darwin":
        cache = Path.home() / "Library" / "Caches"
    else:
        named = Path(os.environ.get("XDG_CACHE_HOME") or "")
        # By its specification, a path of XDG that is not absolute counts as none.
        cache = named if named.is_absolute() else Path.home() / ".cache"
    return cache / "constparity" / "environments"


def finished(folder: Path) -> Environment | None:
    """Return the environment in a folder; None where it is not finished, or its Python is gone."""
    try:
        found = Environment.model_validate_json((folder / MARKER).read_bytes())
    except (OSError, ValidationError):
        return None
    # A folder that was copied has the scripts and the interpreter of the original.
    return found if found.path == folder and found.python.exists() else None


def finish(environment: Environment) -> None:
    """Write the marker, whole or not at all."""
    part = environment.path / f"{MARKER}.part"
    part.write_text(environment.model_dump_json(indent=2), "utf-8")
    part.replace(environment.path / MARKER)


def environments(store: Path) -> list[Environment]:
    """Return the finished environments of a store, by name."""
    return [found for path in _folders(store) if (found := finished(path)) is not None]


def kept(store: Path) -> list[Kept]:
    """Return the folders of a store, by name, and whether a process holds each."""
    found = []
    for path in _folders(store):
        with FolderLock(path) as lock:
            is_held = not lock.try_to_exclude()
        found.append(Kept(path, finished(path), is_held))
    return found


def remove(path: Path) -> bool:
    """Remove a folder of the store, unless a process holds it; say whether it was removed."""
    with FolderLock(path) as lock:
        if not lock.try_to_exclude():
            return False
        delete(path)
    return True


def delete(path: Path) -> None:
    """Delete a folder if it is there; the caller holds its lock."""
    (path / MARKER).unlink(missing_ok=True)
    with contextlib.suppress(FileNotFoundError):
        shutil.rmtree(path)


def delete_abandoned(store: Path) -> None:
    """Delete the folders that makers left when they were killed."""
    for path in [each for each in _folders(store) if not (each / MARKER).exists()]:
        with FolderLock(path) as lock:
            # Another process may have finished it in between.
            if lock.try_to_exclude() and not (path / MARKER).exists():
                delete(path)


def size(path: Path) -> int:
    """Return the bytes that a folder takes on its disk; a file with several names counts once."""
    files: dict[tuple[int, int], int] = {}
    for folder, _, names in os.walk(path):
        for name in names:
            with contextlib.suppress(FileNotFoundError):
                status = os.lstat(os.path.join(folder, name))
                files[status.st_dev, status.st_ino] = status.st_blocks * 512
    return sum(files.values())


def _folders(store: Path) -> Iterator[Path]:
    if store.is_dir():
        yield from sorted(each for each in store.iterdir() if each.is_dir())
