"""Merge the journals of all processes into one result, the same for any number of processes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from parity_tests.evidence.tolerance_ladder import RUNGS
from parity_tests.suites.journal import read
from parity_tests.suites.versions import versions
from reports.rows.comparison import Rung
from reports.rows.row import Side
from reports.rows.suite import (
    SuiteDifference,
    SuiteProcess,
    SuiteProgram,
    SuiteResult,
    SuiteVersions,
)


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
                self.versions = {**line["versions"], **_with_backend(self.versions)}

    def _program(self, row: SuiteProgram) -> None:
        before = self.programs.get(row.identity, row)
        self.programs[row.identity] = row.model_copy(
            update={
                "rung": _worst(before.rung, row.rung),
                "not_compared": tuple(sorted({*before.not_compared, *row.not_compared})),
                "test": min(before.test, row.test),
            }
        )


def _with_backend(known: dict[str, Any]) -> dict[str, Any]:
    """Return what is known already if it has a backend: a controller runs no program."""
    return known if known.get("backend") else {}


def _worst(*rungs: Rung | None) -> Rung | None:
    return max((each for each in rungs if each), key=RUNGS.index, default=None)


def _place(row: SuiteProgram) -> tuple[str, ...]:
    return row.source, row.name, row.identity


def _test(row: SuiteDifference) -> tuple[str, ...]:
    leaf = row.leaf.path if row.leaf else ""
    return row.test, row.phase, row.source, row.program, leaf, row.property, row.left_value
