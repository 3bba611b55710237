"""The journal of a process: a line of JSON for each thing that it saw, on disk at once.

Workers of pytest-xdist have one each, and the controller reads them all. A worker that crashes
loses nothing that it wrote, and its last line says which test it was in. Sending rows with
pytest-xdist's `workeroutput` was the alternative: a crash loses them all. Merged, the journals are
one result, the same for any number of processes.
"""

from __future__ import annotations

import json
import os
import platform
import threading
from collections.abc import Iterator, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from parity_tests.evidence.tolerance_ladder import RUNGS
from reports.rows.proofs import ProgramProof
from reports.rows.row import Side
from reports.rows.suite import (
    SuiteDifference,
    SuiteProcess,
    SuiteProgram,
    SuiteResult,
    SuiteVersions,
)


class Journal:
    """The lines that this process writes; one file per process, and per child that it forks.

    What is noted before `open` is kept: a process runs programs before it knows where to write.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._file: int | None = None
        self._is_closed = False
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
        """Close the file; what threads and exit handlers note later is lost."""
        with self._lock:
            os.close(self._file_now)
            self._is_closed = True

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
            if self._is_closed:
                return
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


def merged(folder: Path, mode: str, sees: Side) -> SuiteResult:
    """Read the journals of a folder into the result of the suite.

    Rows are sorted, and numbers of calls are left out: what is imported runs once in each process.
    """
    found = _Found()
    for worker, lines in read(folder):
        found.add(worker, lines)
    return SuiteResult(
        mode=mode,
        sees=sees,
        versions=SuiteVersions(**(found.versions or {**versions(), "backend": ""})),
        tests=len(found.ran),
        compared_tests=len(found.compared),
        programs=tuple(sorted(found.programs.values(), key=_place)),
        differences=tuple(sorted(found.differences, key=_test)),
        outside=tuple(sorted(found.outside)),
        lost=tuple(found.lost),
    )


class _Found:
    """What the journals that were read so far say."""

    def __init__(self) -> None:
        self.ran: set[str] = set()
        self.compared: set[str] = set()
        self.programs: dict[str, SuiteProgram] = {}
        self.differences: list[SuiteDifference] = []
        self.outside: set[str] = set()
        self.lost: list[SuiteProcess] = []
        self.versions: dict[str, Any] = {}

    def add(self, worker: str, lines: list[dict[str, Any]]) -> None:
        """Add a journal, and say so where the process did not end as it should."""
        for line in lines:
            self._line(line)
        if worker.startswith("fork-of-"):
            return  # it ends when it likes
        if not lines or lines[-1]["kind"] != "finished":
            began = [line["test"] for line in lines if line["kind"] == "begins"]
            self.lost.append(
                SuiteProcess(
                    worker=worker,
                    test=began[-1] if began else "",
                    what="the process ended before its suite did",
                )
            )

    def _line(self, line: dict[str, Any]) -> None:
        match line["kind"]:
            case "ends":
                self.ran |= {line["test"]} if line["ran"] else set()
                self.compared |= {line["test"]} if line["compared"] else set()
            case "program":
                self._program(SuiteProgram.model_validate(line["row"]))
            case "difference":
                self.differences.append(SuiteDifference.model_validate(line["row"]))
            case "outside":
                self.outside.add(line["what"])
            case "finished":
                # A controller runs no program, and has no backend.
                known = self.versions if self.versions.get("backend") else {}
                self.versions = {**line["versions"], **known}

    def _program(self, row: SuiteProgram) -> None:
        before = self.programs.get(row.identity, row)
        rungs = [each for each in (before.rung, row.rung) if each]
        self.programs[row.identity] = row.model_copy(
            update={
                "rung": max(rungs, key=RUNGS.index, default=None),
                "not_compared": tuple(sorted({*before.not_compared, *row.not_compared})),
                "test": min(before.test, row.test),
                "proof": _merged(before.proof, row.proof),
            }
        )


def _merged(one: ProgramProof | None, other: ProgramProof | None) -> ProgramProof | None:
    return one.merged(other) if one and other else one or other


def _place(row: SuiteProgram) -> tuple[str, ...]:
    return row.source, row.name, row.identity


def _test(row: SuiteDifference) -> tuple[str, ...]:
    leaf = row.leaf.path if row.leaf else ""
    return row.test, row.phase, row.source, row.program, leaf, row.property, row.left_value


def versions() -> dict[str, str]:
    """Return the versions of this process, by name."""
    found = {name: _version(name) for name in ("constparity", "jax", "jaxlib", "numpy")}
    return {**found, "python": platform.python_version()}


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"
