"""What the processes of one side said: their journals, read while they are written."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from parity_tests.exception_texts import signal_name


@dataclass(frozen=True)
class Phase:
    """One phase of a test, as pytest reported it; `lost` is "crashed" or "hung", else "".

    `is_part` is a subtest of its own. `flags` are the values of JAX's flag that were seen in it.
    """

    when: str
    outcome: str  # passed, failed or skipped
    text: str = ""
    summary: str = ""
    file: str = ""
    line: int = 0
    duration: float = 0.0
    wasxfail: str | None = None
    sections: tuple[tuple[str, str], ...] = ()
    properties: tuple[tuple[str, Any], ...] = ()
    lost: str = ""
    is_part: bool = False
    flags: tuple[bool, ...] = ()

    @property
    def word(self) -> str:
        """The outcome in one word; "" for a phase that passed."""
        if self.lost:
            return self.lost
        if self.wasxfail is not None and self.outcome != "failed":
            return "xfailed" if self.outcome == "skipped" else "xpassed"
        if self.outcome == "failed":
            return "failed" if self.when == "call" else f"error at {self.when}"
        return "skipped" if self.outcome == "skipped" else ""


@dataclass(frozen=True)
class Uncollected:
    """A file, class or folder that has no tests: its outcome is failed or skipped."""

    outcome: str
    summary: str
    text: str


@dataclass
class Heard:
    """Everything that the processes of a side said, those before a crash included."""

    begin: dict[str, Any] = field(default_factory=dict)
    versions: list[dict[str, Any]] = field(default_factory=list)
    collected: dict[str, None] = field(default_factory=dict)  # in their order
    uncollected: dict[str, Uncollected] = field(default_factory=dict)
    phases: dict[str, list[Phase]] = field(default_factory=dict)
    in_hand: dict[str, None] = field(default_factory=dict)
    finished: set[str] = field(default_factory=set)
    subtests: dict[str, int] = field(default_factory=dict)  # that passed
    end: dict[str, Any] | None = None
    lost_workers: int = 0

    def take(self, events: Iterable[dict[str, Any]]) -> int:
        """Take in events of a journal, and return how many there were."""
        taken = 0
        for event in events:
            self._hear(event)
            taken += 1
        return taken

    def _hear(self, told: dict[str, Any]) -> None:
        match told.pop("event"):
            case "begin":
                self.begin = told
            case "versions":
                self.versions.append(told)
            case "collected":
                self.collected.update(dict.fromkeys(told["tests"]))
            case "not collected":
                known = Uncollected(told["outcome"], told["summary"], told["text"])
                self.uncollected[told["of"]] = known
            case "start":
                self._start(told["test"])
            case "phase":
                self._add(told)
            case "finish":
                self._finish(told["test"])
                self.subtests[told["test"]] = told["subtests"]
            case "end":
                self.end = told

    def _start(self, test: str) -> None:
        if test not in self.finished:
            self.phases.pop(test, None)  # of a process that was lost before the end of the test
        self.in_hand[test] = None

    def _add(self, told: dict[str, Any]) -> None:
        test, code = told.pop("test"), told.pop("lost_by")
        told["sections"] = tuple((name, text) for name, text in told["sections"])
        told["properties"] = tuple((name, value) for name, value in told["properties"])
        told["flags"] = tuple(told["flags"])
        if told["when"] == "???":  # so pytest-xdist calls a test whose worker was lost
            self.lost_workers += 1
            self.lose(test, "crashed", crash_of(code), told["text"])
        else:
            self.phases.setdefault(test, []).append(Phase(**told))

    def _finish(self, test: str) -> None:
        self.in_hand.pop(test, None)
        self.finished.add(test)

    def lose(self, test: str, lost: str, summary: str, text: str) -> None:
        """Record that a test was in hand when its process was lost."""
        phase = Phase("call", "failed", f"{summary}\n\n{text}".strip(), summary, lost=lost)
        self.phases.setdefault(test, []).append(phase)
        self._finish(test)


def crash_of(status: str) -> str:
    """Say how an interpreter ended, by its exit status: negative for a signal, "" if not known.

    Example::

        >>> crash_of("-11"), crash_of("3")
        ('crashed the interpreter (SIGSEGV)', 'ended the interpreter (exit status 3)')
    """
    if status in ("", "0", "None"):
        return "ended the interpreter"
    number = int(status)
    if number >= 0:
        return f"ended the interpreter (exit status {number})"
    name = signal_name(-number)
    if name == "SIGKILL":
        return "crashed the interpreter (SIGKILL: killed from outside, or memory ran out)"
    return f"crashed the interpreter ({name})"


@dataclass
class JournalFile:
    """A journal, and how far it has been read."""

    path: Path
    _read: int = 0

    def events(self) -> Iterator[dict[str, Any]]:
        """Yield the events since the last call; half a line, of a crash, waits for its end."""
        if not self.path.exists():
            return
        with open(self.path, "rb") as file:
            file.seek(self._read)
            content = file.read()
        whole = content[: content.rfind(b"\n") + 1]
        self._read += len(whole)
        for line in whole.splitlines():
            yield json.loads(line)
