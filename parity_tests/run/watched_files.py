"""The files of the user that an answer depends on, and whether one was saved since.

They are looked at again and again: a few files by name, some microseconds each. Turned down:
watchfiles, a dependency that watches whole folders, hears nothing of saves on network file systems
and in many containers unless it looks again and again as well, and is no faster for few files.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from parity_tests import targets
from parity_tests.evidence.folder_layout import ProcessFiles
from parity_tests.marked_programs import python_files

POLL_SECONDS = 0.1
_SETTLED_SECONDS = 0.05  # an editor may empty a file, and write it a moment later

# Time of the last change in ns, size and inode; None where there is no file.
_Stamp = tuple[int, int, int] | None


class WatchedFiles:
    """The files of some targets, and those that their import has read so far."""

    def __init__(self, targets_: Sequence[str]) -> None:
        self._named = [Path(targets.split(each)[0]) for each in targets_]
        self._imported: set[Path] = set()
        self._seen = self._stamps()

    def __len__(self) -> int:
        return sum(stamp is not None for stamp in self._seen.values())

    def begin(self) -> None:
        """Note what the files are before an answer is looked for."""
        self._seen = self._stamps()

    def add_imported(self, listing: Path, begun: float) -> None:
        """Add the files that the process in a folder has imported; it began at a `time.time`."""
        file = ProcessFiles(listing).imported
        if not file.exists():
            return
        there = {each for each, stamp in self._seen.items() if stamp is not None}
        new = {Path(each) for each in json.loads(file.read_text("utf-8"))} - there
        self._imported |= new
        for each in new:
            stamp = _stamp(each)
            # What was saved since is not what was imported, perhaps.
            self._seen[each] = None if stamp and stamp[0] > begun * 1e9 else stamp
            for other in _modules_in(each.parent):
                self._seen.setdefault(other, None)

    def wait_for_save(self, meanwhile: Callable[[], object] = lambda: None) -> None:
        """Wait until a file is another than at the beginning; `meanwhile` is called at times."""
        while (now := self._stamps()) == self._seen:
            meanwhile()
            time.sleep(POLL_SECONDS)
        while True:
            time.sleep(_SETTLED_SECONDS)
            if now == (now := self._stamps()):
                return

    def _stamps(self) -> dict[Path, _Stamp]:
        found: set[Path] = set(self._imported)
        for each in self._named:
            if each.is_dir():
                found.update(python_files(each.absolute()))
            elif each.suffix == ".py":
                found.add(each.absolute())
        folders = {Path.cwd(), *(each.parent for each in found)}
        # A module that comes may be the one that an import did not find; its content says nothing.
        beside = (each for folder in folders for each in _modules_in(folder))
        return {**dict.fromkeys(beside), **{each: _stamp(each) for each in found}}


def _modules_in(folder: Path) -> list[Path]:
    """Return what may be imported by one name from a folder; `.#model.py` is a lock of Emacs."""
    files = (each for each in folder.glob("*.py") if each.stem.isidentifier())
    return [*files, *folder.glob("*/__init__.py")]


def _stamp(file: Path) -> _Stamp:
    try:
        status = file.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino
