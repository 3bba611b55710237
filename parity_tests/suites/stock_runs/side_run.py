"""The processes of one side: started, watched, and started again after a test that ended one."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from parity_tests.suites.stock_runs import arguments
from parity_tests.suites.stock_runs.heard import Heard, JournalFile, crash_of
from reports.rows.suite_runs import StockSide

# A suite that crashes at every test is known after some: each start imports everything again.
MOST_STARTS = 30
_LOG_TAIL = 4_000
_SECONDS_FOR_TRACEBACK = 3.0
_NO_SESSION = (3, 4)  # an internal error, and options that pytest refuses
_ENDED_EARLY = (2, 3)  # interrupted, as by pytest.exit, and an internal error


@dataclass(frozen=True)
class Order:
    """What the processes of a side are to run.

    `timeout` is in seconds without any event, 0 for none. `has_cache` says that pytest's cache is
    on. `only` are the tests to run, None for all
    that the process collects.
    """

    side: StockSide
    python: Path
    is_own: bool  # the interpreter of the parent
    arguments: Sequence[str]
    options: Mapping[str, Any]
    started_in: Path
    folder: Path
    timeout: float = 0.0
    has_cache: bool = True
    only: Sequence[str] | None = None


@dataclass
class SideRun:
    """The processes of a side, one after the other; `supervise` polls them."""

    order: Order
    heard: Heard = field(default_factory=Heard)
    finished: bool = False
    ending: str = ""  # why there was no end of the session
    starts: int = 0
    seconds: float = 0.0
    _process: subprocess.Popen[bytes] | None = None
    _journal: JournalFile = field(default_factory=lambda: JournalFile(Path()))
    _began: float = 0.0
    _last: float = 0.0

    def poll(self) -> None:
        """Start a process where there is none, and see how far it has come."""
        process = self._process or self._start()
        if self.heard.take(self._journal.events()):
            self._last = time.monotonic()
        if (status := process.poll()) is not None:
            self.kill()
            self._has_ended(status)
        elif self.order.timeout and time.monotonic() - self._last > self.order.timeout:
            self._end_hung(process)

    def kill(self) -> None:
        """End the process and all that it started."""
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
            self._process = None
            self.heard.take(self._journal.events())  # its last words
            self.seconds += time.monotonic() - self._began

    @property
    def selected(self) -> list[str]:
        """The tests that the side has collected, and was asked to run."""
        only = None if self.order.only is None else set(self.order.only)
        return [each for each in self.heard.collected if only is None or each in only]

    @property
    def has_begun(self) -> bool:
        """Whether a test ran, or there was none to run."""
        end = self.heard.end
        return bool(self.heard.finished) or (end is not None and end["status"] not in _NO_SESSION)

    @property
    def _folder(self) -> Path:
        return self.order.folder / f"start{self.starts}"

    def _start(self) -> subprocess.Popen[bytes]:
        self.starts += 1
        self.heard.in_hand.clear()
        self._folder.mkdir(parents=True)
        self._journal = JournalFile(self._folder / "journal.jsonl")
        plan = self._folder / "plan.json"
        plan.write_text(json.dumps(self._plan()), encoding="utf-8")
        environment = arguments.environment_of(self.order.side)
        if not self.order.is_own:
            environment.pop("PYTHONHOME", None)  # it is of this interpreter
        with open(self._folder / "log", "wb") as log:
            self._process = subprocess.Popen(
                self._command(plan),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=self.order.started_in,
                env=environment,
                start_new_session=True,  # Ctrl-C is for the parent, which then kills the group
            )
        self._began = self._last = time.monotonic()
        return self._process

    def _command(self, plan: Path) -> list[str]:
        cache = self.order.folder / "cache" if self.order.has_cache else None
        return arguments.command_of(self.order.python, self.order.arguments, plan, cache)

    def _plan(self) -> dict[str, Any]:
        options = dict(self.order.options)
        if options.get("basetemp"):
            options["basetemp"] = self._basetemp(Path(options["basetemp"]))
        return {
            "journal": str(self._journal.path),
            "only": None if self.order.only is None else list(self.order.only),
            "without": sorted(self.heard.finished),
            "options": options,
        }

    def _basetemp(self, folder: Path) -> str:
        """Name a folder of its own in that of the user: pytest empties it when it starts."""
        folder.mkdir(parents=True, exist_ok=True)
        return str(folder / "-".join([*self.order.folder.parts[-3:], str(self.starts)]))

    def _end_hung(self, process: subprocess.Popen[bytes]) -> None:
        with contextlib.suppress(ProcessLookupError):
            process.send_signal(signal.SIGABRT)  # the fault handler prints where it is
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_SECONDS_FOR_TRACEBACK)
        self.kill()
        self._was_lost("hung", f"hung: no progress in {self.order.timeout:g} seconds")

    def _has_ended(self, status: int) -> None:
        if self.heard.end is None:
            self._was_lost("crashed", crash_of(str(status)))
            return
        is_done = self.heard.finished.issuperset(self.selected)
        if self.heard.lost_workers and not is_done and self.starts < MOST_STARTS:
            self.heard.lost_workers, self.heard.end = 0, None
            return  # to be started again
        self.finished = True
        self.ending = self.heard.end["stopped"]
        if not self.ending and self.heard.end["status"] in _ENDED_EARLY:
            self.ending = f"pytest ended with exit status {self.heard.end['status']}"
        if status < 0:
            self.ending = f"{crash_of(str(status))} after the last test"

    def _was_lost(self, lost: str, summary: str) -> None:
        """Give the loss to the tests in hand, and go on with the others."""
        log = self.log_tail()
        in_hand = list(self.heard.in_hand)
        for test in in_hand:
            self.heard.lose(test, lost, summary, log)
        is_done = self.heard.finished.issuperset(self.selected)
        if not in_hand or is_done or self.starts >= MOST_STARTS:
            self.finished = True
            self.ending = _ending(summary, self.starts, bool(in_hand), bool(self.heard.collected))

    def log_tail(self) -> str:
        """Return the end of what the process printed, from a fatal error on where there is one."""
        log = (self._folder / "log").read_text("utf-8", errors="replace")
        fatal = log.rfind("Fatal Python error")
        return log[fatal:][:_LOG_TAIL] if fatal >= 0 else log[-_LOG_TAIL:]


def _ending(summary: str, starts: int, in_a_test: bool, has_collected: bool) -> str:
    if starts >= MOST_STARTS:
        return f"given up after {starts} processes: the last one {summary}"
    if in_a_test:
        return ""  # the test has it
    where = "between two tests" if has_collected else "before the tests were collected"
    return f"{summary} {where}"
