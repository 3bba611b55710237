"""What the watcher saw: programs and differences, each with the test that it belongs to."""

from __future__ import annotations

import contextlib
import threading
import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from parity_tests.evidence.tolerance_ladder import RUNGS
from parity_tests.suites.explicit_rules import Rules
from parity_tests.suites.journal import Journal
from reports.rows.comparison import Rung
from reports.rows.proofs import ProgramProof
from reports.rows.row import Side
from reports.rows.suite import SuiteDifference, SuiteProgram


@dataclass(eq=False)
class Seen:
    """A program that ran: its row, why it must not run twice, and what became of its runs."""

    row: SuiteProgram
    only_once: str = ""
    rung: Rung | None = None
    proof: ProgramProof | None = None
    not_compared: set[str] = field(default_factory=set)
    test: str | None = None  # the first by name; the order of a run depends on its workers

    def difference(self, left: Side, right: Side, **what: Any) -> SuiteDifference:
        """Return how two sides of the program differ; the recorder knows in which test."""
        return SuiteDifference(
            test="",
            phase="",
            program=self.row.identity,
            name=self.row.name,
            source=self.row.source,
            arguments=self.row.arguments,
            left=left,
            right=right,
            **what,
        )

    def now(self) -> SuiteProgram:
        """Return the row with what is known now."""
        return self.row.model_copy(
            update={
                "rung": self.rung,
                "not_compared": tuple(sorted(self.not_compared)),
                "test": self.test or "",
                "proof": self.proof,
            }
        )


@dataclass(eq=False)
class Phase:
    """A phase of a test: how many programs ran in it, how many were compared, what differs."""

    test: str = ""
    phase: str = ""
    ran: int = 0
    compared: int = 0
    skipped: bool = False
    reasons: set[str] = field(default_factory=set)  # of runs that were not compared
    differences: list[SuiteDifference] = field(default_factory=list)


class Recorder:
    """The programs of this process, and the phase of the test that runs now.

    Threads share it: a program belongs to the test that runs when the program ends.
    """

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._lock = threading.RLock()
        self._seen: weakref.WeakKeyDictionary[Any, Seen] = weakref.WeakKeyDictionary()
        self._outside = Phase()
        self._phase = self._outside
        self.rules: Rules | None = None  # of an explicit parity test

    @property
    def now(self) -> Phase:
        """The phase of the test that runs now."""
        return self._phase

    @contextlib.contextmanager
    def under(self, rules: Rules) -> Iterator[None]:
        """Compare what runs in this block by the rules of an explicit parity test."""
        self.rules = rules
        try:
            yield
        finally:
            self.rules = None

    @contextlib.contextmanager
    def during(self, test: str, phase: str) -> Iterator[Phase]:
        """Let what runs in this block belong to a phase of a test."""
        self._journal.begins(test, phase)
        self._phase = now = Phase(test, phase)
        completed = False
        try:
            yield now
            completed = True
        finally:
            self._phase = self._outside
            self._journal.ends(
                test, phase, now.ran, now.compared, completed=completed, skipped=now.skipped
            )

    @property
    def test(self) -> str:
        """The test that runs now; "" outside of tests."""
        return self._phase.test

    def seen(self, closed_jaxpr: Any, describe: Callable[[], Seen]) -> Seen:
        """Return what is known of a program, described when it is new, and count a run of it."""
        with self._lock:
            self._phase.ran += 1
            found = self._seen.get(closed_jaxpr)
            if found is None:
                found = self._seen[closed_jaxpr] = describe()
            if found.test is None or self._phase.test < found.test:
                found.test = self._phase.test
                self._journal.program(found.now())
            return found

    def not_compared(self, seen: Seen, why: str) -> None:
        """Note that a run of a program was not compared, and why."""
        with self._lock:
            self._phase.reasons.add(why)
            if why not in seen.not_compared:
                seen.not_compared.add(why)
                self._journal.program(seen.now())

    def compared(self, seen: Seen, rung: Rung) -> None:
        """Note that a run of a program was compared, and the worst rung of its outputs."""
        with self._lock:
            self._phase.compared += 1
            if seen.rung == rung:
                return
            if seen.rung is None or RUNGS.index(rung) > RUNGS.index(seen.rung):
                seen.rung = rung
                self._journal.program(seen.now())

    def proved(self, seen: Seen, found: ProgramProof | None) -> None:
        """Note that a program was proved, or not; None where nothing new was found."""
        with self._lock:
            self._phase.compared += 1
            if found is not None:
                self.breaks(seen, found)

    def breaks(self, seen: Seen, found: ProgramProof) -> None:
        """Add what breaks a program, or its first proof, to what is known of it."""
        with self._lock:
            seen.proof = seen.proof.merged(found) if seen.proof else found
            self._journal.program(seen.now())

    def differs(self, difference: SuiteDifference) -> None:
        """Note a difference, which belongs to the test that runs now."""
        with self._lock:
            now, rules = self._phase, self.rules
            if rules and not rules.compares(difference):
                return
            row = difference.model_copy(update={"test": now.test, "phase": now.phase})
            if rules and rules.xfail:
                row = row.model_copy(update={"state": "known", "because": rules.xfail})
            now.differences.append(row)
            self._journal.difference(row)
