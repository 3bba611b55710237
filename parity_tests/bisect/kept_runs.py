"""The runs of a bisection, kept as they end, so that an interrupted search goes on."""

from __future__ import annotations

import hashlib
import json
import os
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from parity_tests.bisect.running import Ended
from parity_tests.bisect.sites import NAMED, Site, Told

_SAID = 4_000  # characters of the end of the output


@dataclass(frozen=True)
class KeptRun:
    """What is kept of a run; `name` is what was flipped, or "stock off", or "stock on"."""

    name: str
    fails: bool
    value: float | None
    ended: str
    said: str
    seconds: float
    interpreters: int
    processes: Sequence[Mapping[str, str]]


class KeptRuns:
    """The runs so far, in a file of lines, and the sites that they have met.

    Runs of an earlier process are used where the files are as they were that their processes
    loaded, and those below the working directory but for what the first run wrote. `changed` is a
    file for which they are not used; `is_cut` says that there are more files than were looked at.

    Example::

        runs = KeptRuns(Path("runs.jsonl"))
        runs.keep("none", ended, fails=False, value=None, before=None)
    """

    def __init__(self, file: Path) -> None:
        self._file = file
        self._lock = threading.Lock()
        self._below, self.is_cut = _stamps_below(".")
        self.changed = ""
        self._runs: list[KeptRun] = []
        self._stamped: set[str] = set()
        self.told = Told()  # of all runs: their sites, and what is told by name
        if file.exists():
            self._read(file.read_bytes())

    def _read(self, text: bytes) -> None:
        whole = [line for line in text.splitlines(keepends=True) if line.endswith(b"\n")]
        lines = [json.loads(line) for line in whole]
        stamps = {file: at for told in reversed(lines) for file, at in told["files"].items()}
        changed = [file for file, at in stamps.items() if _stamp(file) != at]
        added = [file for file in self._below if file.endswith(_SOURCES) and file not in stamps]
        self.changed = min(changed + added, default="") if lines else ""
        if self.changed:
            self._file.unlink()
            return
        for told in lines:
            self._runs.append(KeptRun(**told["run"]))
            self._add([Site(**each) for each in told["sites"]], told)
        if len(b"".join(whole)) < len(text):  # a line that was cut off
            self._file.write_bytes(b"".join(whole))

    def keep(
        self, name: str, ended: Ended, fails: bool, value: float | None, before: float | None
    ) -> KeptRun:
        """Add a run; it is on the disk when this returns.

        `before` is the value of the run with nothing flipped, where failing goes by one.
        """
        run = KeptRun(
            name,
            fails,
            value,
            ended.word if value is None else f"{value:.12g} where it was {before:.12g}",
            ended.output[-_SAID:],
            ended.seconds,
            ended.told.interpreters,
            ended.told.processes,
        )
        with self._lock:
            known = self.told.sites
            new = [site for key, site in ended.told.sites.items() if key not in known]
            files = {*(site.file for site in new), *ended.told.loaded} - self._stamped
            self._stamped |= files
            stamps = {file: _stamp(file) for file in sorted(files)}
            told = {
                "run": asdict(run),
                "sites": [asdict(site) for site in new],
                **{name: getattr(ended.told, name) for name in NAMED},
                "files": stamps if self._runs else {**stamps, **self._not_written()},
            }
            with open(self._file, "a", encoding="utf-8") as file:
                file.write(json.dumps(told) + "\n")
            self._runs.append(run)
            self._add(new, told)
        return run

    def _add(self, sites: Iterable[Site], told: Mapping[str, Any]) -> None:
        self.told.sites |= {site.id: site for site in sites}
        for name in NAMED:
            getattr(self.told, name).update(told[name])

    def _not_written(self) -> dict[str, str]:
        """Return the files below the working directory, without data that a run has written."""
        return {
            file: stamp
            for file, stamp in self._below.items()
            if file.endswith(_SOURCES) or _stamp(file) == stamp
        }

    def runs_of(self, name: str) -> list[KeptRun]:
        """Return the runs of a name, in order."""
        return [run for run in self._runs if run.name == name]

    def all_runs(self) -> Sequence[KeptRun]:
        """Return all runs, in order."""
        return self._runs


_SOURCES = (".py", ".toml", ".cfg", ".ini", ".sh", ".ipynb", ".yaml", ".yml")
_NO_SOURCES = ("__pycache__", "node_modules", "site-packages")
_MOST_FILES = 20_000


def _stamps_below(folder: str) -> tuple[dict[str, str], bool]:
    """Return the stamp of each file below a folder, and whether there are more of them.

    Of code and settings there are as many as of all else.
    """
    sources, others = dict[str, str](), dict[str, str]()
    is_cut = False
    for parent, folders, files in os.walk(folder):
        folders[:] = sorted(f for f in folders if f[0] != "." and f not in _NO_SOURCES)
        for file in sorted(files):
            path = os.path.normpath(os.path.join(parent, file))
            found = sources if file.endswith(_SOURCES) else others
            if len(found) < _MOST_FILES:
                found[path] = _stamp(path)
            else:
                is_cut = True
        if len(sources) == len(others) == _MOST_FILES:
            return {**sources, **others}, True
    return {**sources, **others}, is_cut


def _stamp(file: str) -> str:
    try:
        found = os.stat(file)
    except OSError:
        return ""
    return f"{found.st_mtime_ns} {found.st_size}"


def digest_of(parts: Sequence[str]) -> str:
    """Return the name of the folder of a bisection."""
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]
