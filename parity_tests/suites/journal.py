"""The journal of a process: a line of JSON for each thing that it saw, on disk at once.

Workers of pytest-xdist have one each, and the controller reads them all. A worker that crashes
loses nothing that it wrote, and its last line says which test it was in. Sending rows with
pytest-xdist's `workeroutput` was the alternative: a crash loses them all.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from reports.rows.suite import SuiteDifference, SuiteProgram


class Journal:
    """The lines that this process writes; one file per process, and per child that it forks.

    What is noted before `open` is kept: a process runs programs before it knows where to write.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._file: int | None = None
        self._kept: list[bytes] = []

    def open(self, folder: Path, worker: str) -> None:
        """Write to a file of this process in a folder from now on."""
        self._folder, self._worker = folder, worker
        self._open()
        for line in self._kept:
            os.write(self._file_now, line)
        self._kept.clear()

    def begins(self, test: str, phase: str) -> None:
        """Note that a phase of a test begins."""
        self._write(kind="begins", test=test, phase=phase)

    def ends(self, test: str, phase: str, ran: int, compared: int, **became: bool) -> None:
        """Note that a phase of a test has ended, and how many programs ran in it.

        `became` says whether it was `completed`, and whether the test was `skipped` in it.
        """
        self._write(kind="ends", test=test, phase=phase, ran=ran, compared=compared, **became)

    def deselected(self, tests: Sequence[str]) -> None:
        """Note tests that were collected and are not run."""
        self._write(kind="deselected", tests=list(tests))

    def program(self, row: SuiteProgram) -> None:
        """Note what is known of a program; the last line of it is the truth."""
        self._write(kind="program", row=row.model_dump(mode="json"))

    def difference(self, row: SuiteDifference) -> None:
        """Note a difference."""
        self._write(kind="difference", row=row.model_dump(mode="json"))

    def outside(self, what: str) -> None:
        """Note something that was not shadowed, in a sentence."""
        self._write(kind="outside", what=what)

    def finished(self, **versions: str) -> None:
        """Note that the process ends as it should, and what it ran with."""
        self._write(kind="finished", versions=versions)

    def in_child(self) -> None:
        """Go on in a file of its own, in a process that was just forked."""
        # A lock that another thread of the parent held is held for ever in the child.
        self._lock = threading.Lock()
        self._worker = f"fork-of-{self._worker}"
        self._open()

    def close(self) -> None:
        """Close the file; what is noted later is lost."""
        os.close(self._file_now)

    @property
    def _file_now(self) -> int:
        assert self._file is not None, "the journal is not open"
        return self._file

    def _open(self) -> None:
        path = self._folder / f"{self._worker}-{os.getpid()}.jsonl"
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def _write(self, **line: Any) -> None:
        text = json.dumps(line, separators=(",", ":")) + "\n"
        with self._lock:
            if self._file is None:
                self._kept.append(text.encode())
            else:
                os.write(self._file, text.encode())


def read(folder: Path) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Yield the worker and the lines of each journal in a folder, in the order of their names.

    A line that a killed process has half written ends its journal.
    """
    for path in sorted(folder.glob("*.jsonl")):
        yield path.stem.rpartition("-")[0], list(_lines(path))


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    for line in path.read_text("utf-8").splitlines():
        try:
            yield json.loads(line)
        except json.JSONDecodeError:
            return
