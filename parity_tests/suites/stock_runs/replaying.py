"""Outcomes of the child processes as reports of pytest: its terminal, JUnit XML, `-x` and exit code
work on them as on any other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import pytest

from parity_tests.suites.stock_runs.heard import Phase
from parity_tests.suites.stock_runs.outcomes import GOOD, is_good
from parity_tests.suites.stock_runs.verdicts import Judged, Verdict
from reports.documents.suite_runs import sides_of
from reports.rows.suite_runs import SuiteComparison, SuiteOutcome

Location = tuple[str, int | None, str]
When = Literal["setup", "call", "teardown"]


@dataclass(frozen=True)
class _Crash:
    path: str
    lineno: int
    message: str

    def __str__(self) -> str:
        return f"{self.path}:{self.lineno}: {self.message}"


@dataclass(frozen=True)
class _Text:
    """A text with the line that pytest's short summary shows; pytest's own would need a frame."""

    text: str
    reprcrash: _Crash

    def __str__(self) -> str:
        return self.text

    def toterminal(self, writer: Any) -> None:
        """Write the text, as pytest asks of a representation."""
        writer.line(self.text)


@dataclass(frozen=True)
class Place:
    """Where a report belongs: that of the item, or of a test that the parent has not collected."""

    test: str
    location: Location
    keywords: Mapping[str, Any]

    @classmethod
    def of_item(cls, item: pytest.Item) -> Place:
        """Return the place of an item of the parent."""
        return cls(item.nodeid, item.location, dict.fromkeys(item.keywords, 1))

    @classmethod
    def of_test(cls, test: str) -> Place:
        """Return the place of a test that a child alone collected."""
        file, _, name = test.partition("::")
        return cls(test, (file, None, name.replace("::", ".") or file), {})


def reports_of(verdict: Verdict, place: Place, ending: str) -> Iterator[pytest.TestReport]:
    """Yield the reports of a test, from its setup to its teardown.

    `ending` is the end of the text of a difference.
    """
    worst = verdict.worst
    if worst.kind == "different":
        texts = [_difference(each) for each in verdict.judged if each.kind == worst.kind]
        text = "\n\n".join(filter(None, [*texts, ending]))
        yield from _failing("call", text, headline(worst.compared), place)
    elif worst.kind == "fails otherwise" and is_good(worst.compared.legacy):  # it is xfailed
        text = f"{worst.compared.legacy.text}\n\n{_otherwise(worst.compared)}"
        yield from _failing("call", text, headline(worst.compared), place)
    elif worst.kind == "not compared":
        yield from _failing("setup", _not_compared(worst.compared), _absent(worst.compared), place)
    elif worst.phases:
        yield from _replayed(worst, place)
    else:
        yield from _of_module(worst.compared.legacy, place)


def headline(compared: SuiteComparison) -> str:
    """Return the line that names a difference.

    Example::

        "passed on jax-legacy, failed on jax-simplified: AssertionError (JAX 0.12.0.1)"
    """
    sides = {"jax-legacy": compared.legacy, "jax-simplified": compared.simplified}
    said = ", ".join(f"{outcome.word} on {side}" for side, outcome in sides.items())
    reasons = [each.summary for each in sides.values() if each.summary]
    return f"{said}{': ' if reasons else ''}{'; '.join(reasons)} ({compared.interpreter})"


def _difference(judged: Judged) -> str:
    compared = judged.compared
    again = "The second run was interrupted."
    if compared.again is not None:
        legacy, simplified = compared.again
        again = f"Again in fresh processes: {legacy} on jax-legacy, {simplified} on jax-simplified."
    said = [f"The two sides of stock {compared.interpreter} differ on this test.", again, ""]
    for side, outcome in sides_of(compared):
        said.append(f"{side:<15} {outcome}")
    for side, outcome in sides_of(compared):
        if outcome.text:
            said += ["", f"---- {side}: {outcome.outcome} ----", outcome.text]
    return "\n".join(said)


def _absent(compared: SuiteComparison) -> str:
    said = ", ".join(f"{outcome} on {side}" for side, outcome in sides_of(compared))
    return f"not compared: {said} ({compared.interpreter})"


def _not_compared(compared: SuiteComparison) -> str:
    return (
        f"{_absent(compared)}\n\npytest has collected this test here, and a process of stock JAX "
        "has not run it, so nothing is known of it on both sides."
    )


def _failing(when: When, text: str, line: str, place: Place) -> Iterator[pytest.TestReport]:
    if when == "call":
        yield _report(place, "setup", "passed", None)
    longrepr = _Text(text, _Crash(place.location[0], (place.location[1] or 0) + 1, line))
    yield _report(place, when, "failed", longrepr)
    yield _report(place, "teardown", "passed", None)


def _of_module(outcome: SuiteOutcome, place: Place) -> Iterator[pytest.TestReport]:
    """Yield the reports of a test whose file was skipped, or fails, as a whole on both sides."""
    if outcome.outcome not in GOOD:
        yield from _failing("setup", outcome.text or str(outcome), str(outcome), place)
        return
    where = (place.location[0], (place.location[1] or 0) + 1, outcome.summary)
    yield _report(place, "setup", "skipped", where)
    yield _report(place, "teardown", "passed", None)


def _replayed(judged: Judged, place: Place) -> Iterator[pytest.TestReport]:
    note = _note(judged)
    for phase in judged.phases:
        report = _report(
            place,
            phase.when,
            phase.outcome,
            _longrepr(phase, note),
            duration=phase.duration,
            sections=list(phase.sections),
            user_properties=list(phase.properties),
        )
        if phase.wasxfail is not None:
            report.wasxfail = phase.wasxfail
        yield report
    if judged.phases[-1].when != "teardown":
        yield _report(place, "teardown", "passed", None)


def _note(judged: Judged) -> str:
    compared = judged.compared
    if judged.kind == "not repeatable":
        return f"The sides differed once, and not again: {headline(compared)}"
    if judged.kind == "fails otherwise":
        return _otherwise(compared)
    note = f"This test fails alike on both sides of stock {compared.interpreter}."
    if compared.legacy.summary != compared.simplified.summary:
        note += f" On jax-simplified it says: {compared.simplified.summary}"
    return note


def _otherwise(compared: SuiteComparison) -> str:
    """Tell a failure of both sides that has another exception or message on each."""
    said = f"This test fails on both sides of stock {compared.interpreter}, otherwise on each."
    lines = [said, *(f"{side:<15} {outcome}" for side, outcome in sides_of(compared))]
    if compared.simplified.text:
        lines += ["", "---- jax-simplified ----", compared.simplified.text]
    return "\n".join(lines)


def _longrepr(phase: Phase, note: str) -> Any:
    if phase.outcome == "passed":
        return None
    if phase.outcome == "skipped" and phase.wasxfail is None:
        return (phase.file, phase.line, phase.text)
    text = f"{phase.text}\n\n{note}" if phase.outcome == "failed" else phase.text
    return _Text(text, _Crash(phase.file, phase.line, phase.summary))


def _report(
    place: Place, when: Any, outcome: Any, longrepr: Any, **fields: Any
) -> pytest.TestReport:
    return pytest.TestReport(
        nodeid=place.test,
        location=place.location,
        keywords=place.keywords,
        outcome=outcome,
        longrepr=longrepr,
        when=when,
        **fields,
    )
