"""The processes of one side: started, watched, and started again after a test that ended one."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any

from parity_tests.processes.interpreters import interpreter_at, versions_of
from parity_tests.run.estimates import spoken
from parity_tests.suites.stock_runs import arguments
from parity_tests.suites.stock_runs.heard import Heard, JournalFile, crash_of
from reports.rows.suite_runs import StockSide

# Not pydantic and no package of ours: a process of stock JAX has pytest and the project's packages.
NEEDED = ("jax", "jaxlib", "pytest")


@dataclass(frozen=True)
class SuitePython:
    """An interpreter, and its name in reports: "JAX 0.12.0.1", with its path if two are alike."""

    python: Path
    name: str
    is_own: bool


def suite_pythons(paths: Sequence[str]) -> list[SuitePython]:
    """Return this interpreter and those at paths.

    Raises `InterpreterError` where a path is no interpreter, or lacks jax or pytest.

    Example::

        [each.name for each in suite_pythons(["~/jax-0.12"])] == ["JAX 0.10.2", "JAX 0.12.0.1"]
    """
    found = [(Path(sys.executable), f"JAX {metadata.version('jax')}")]
    for path in paths:
        python = interpreter_at(path, needed=NEEDED)
        found.append((python, f"JAX {versions_of(python).jax}"))
    names = [name for _, name in found]
    return [
        SuitePython(python, name if names.count(name) == 1 else f"{name} ({python})", number == 0)
        for number, (python, name) in enumerate(found)
    ]


# A suite that crashes at every test is known after some: each start imports everything again.
MOST_STARTS = 30
_LOG_TAIL = 4_000
_SECONDS_OF_SILENCE = 10.0
_SECONDS_FOR_TRACEBACK = 3.0
_NO_SESSION = (3, 4)  # an internal error, and options that pytest refuses
_ENDED_EARLY = (2, 3)  # interrupted, as by pytest.exit, and an internal error


@dataclass(frozen=True)
class Asked:
    """What is asked of every process.

    `timeout` is in seconds without any event, 0 for none. `has_cache` says that pytest's cache is
    on. `only` are the tests to run, None for all that the process collects; `without` are not run.
    """

    arguments: Sequence[str]
    options: Mapping[str, Any]
    started_in: Path
    timeout: float = 0.0
    has_cache: bool = True
    only: frozenset[str] | None = None
    without: frozenset[str] = frozenset()

    def takes(self, test: str) -> bool:
        """Say whether a test is to run, of those that a process collects."""
        return test not in self.without and (self.only is None or test in self.only)


@dataclass
class SideRun:
    """The processes of a side, one after the other; `supervise` polls them.

    `tell` gets a line now and then: how many tests have run, how long the others will take, and
    the one that runs.
    """

    side: StockSide
    python: SuitePython
    asked: Asked
    folder: Path
    tell: Callable[[str], None] = lambda line: None
    heard: Heard = field(default_factory=Heard)
    finished: bool = False
    ending: str = ""  # why there was no end of the session, or another than its tests come to
    starts: int = 0
    seconds: float = 0.0
    _process: subprocess.Popen[bytes] | None = None
    _journal: JournalFile = field(default_factory=lambda: JournalFile(Path()))
    _began: float = 0.0
    _last: float = 0.0
    _told: float = 0.0

    def poll(self) -> None:
        """Start a process where there is none, and see how far it has come."""
        process = self._process or self._start()
        if self.heard.take(self._journal.events()):
            self._last = time.monotonic()
        if time.monotonic() - self._told > _SECONDS_OF_SILENCE:
            self._told = time.monotonic()
            self.tell(self._progress())
        if (status := process.poll()) is not None:
            self.kill()
            self._has_ended(status)
        elif self.asked.timeout and time.monotonic() - self._last > self.asked.timeout:
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
        return [each for each in self.heard.collected if self.asked.takes(each)]

    def uncollected(self) -> set[str]:
        """Return the files, classes and folders that could not be collected, of those asked for."""
        found = self.heard.uncollected.items()
        return {node for node, why in found if why.outcome == "failed" and self.asked.takes(node)}

    @property
    def has_begun(self) -> bool:
        """Whether a test ran, or there was none to run."""
        end = self.heard.end
        return bool(self.heard.finished) or (end is not None and end["status"] not in _NO_SESSION)

    @property
    def _folder(self) -> Path:
        return self.folder / f"start{self.starts}"

    def _start(self) -> subprocess.Popen[bytes]:
        self.starts += 1
        self.heard.in_hand.clear()
        self._folder.mkdir(parents=True)
        self._journal = JournalFile(self._folder / "journal.jsonl")
        plan = self._folder / "plan.json"
        plan.write_text(json.dumps(self._plan()), encoding="utf-8")
        environment = arguments.environment_of(self.side)
        if not self.python.is_own:
            environment.pop("PYTHONHOME", None)  # it is of this interpreter
        with open(self._folder / "log", "wb") as log:
            self._process = subprocess.Popen(
                self._command(plan),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=self.asked.started_in,
                env=environment,
                start_new_session=True,  # Ctrl-C is for the parent, which then kills the group
            )
        self._began = self._last = self._told = time.monotonic()
        return self._process

    def _progress(self) -> str:
        done, total = len(self.heard.finished), len(self.selected)
        if not total:
            return f"{self.side}, {self.python.name}: collecting the tests"
        seconds = self.seconds + time.monotonic() - self._began
        left = f", {spoken(seconds / done * (total - done))} left" if done else ""
        now = "".join(f", at {test}" for test in self.heard.in_hand)
        return f"{self.side}, {self.python.name}: {done}/{total} tests{left}{now}"

    def _command(self, plan: Path) -> list[str]:
        cache = self.folder / "cache" if self.asked.has_cache else None
        return arguments.command_of(self.python.python, self.asked.arguments, plan, cache)

    def _plan(self) -> dict[str, Any]:
        options = dict(self.asked.options)
        if options.get("basetemp"):
            options["basetemp"] = self._basetemp(Path(options["basetemp"]))
        return {
            "journal": str(self._journal.path),
            "only": None if self.asked.only is None else sorted(self.asked.only),
            "without": sorted(self.heard.finished | self.asked.without),
            "options": options,
        }

    def _basetemp(self, folder: Path) -> str:
        """Name a folder of its own in that of the user: pytest empties it when it starts."""
        folder.mkdir(parents=True, exist_ok=True)
        return str(folder / "-".join([*self.folder.parts[-3:], str(self.starts)]))

    def _end_hung(self, process: subprocess.Popen[bytes]) -> None:
        with contextlib.suppress(ProcessLookupError):
            process.send_signal(signal.SIGABRT)  # the fault handler prints where it is
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_SECONDS_FOR_TRACEBACK)
        self.kill()
        self._was_lost("hung", f"hung: no progress in {self.asked.timeout:g} seconds")

    def _has_ended(self, status: int) -> None:
        if self.heard.end is None:
            self._was_lost("crashed", crash_of(str(status)))
            return
        is_done = self.heard.finished.issuperset(self.selected)
        if self.heard.lost_workers and not is_done and self.starts < MOST_STARTS:
            self.heard.lost_workers, self.heard.end = 0, None
            return  # to be started again
        self.finished = True
        of_tests = self.heard.end["status"]
        self.ending = self.heard.end["stopped"]
        if not self.ending and of_tests in _ENDED_EARLY:
            self.ending = f"pytest ended with exit status {of_tests}"
        if status < 0:
            self.ending = f"{crash_of(str(status))} after the last test"
        elif not self.ending and status != of_tests:
            self.ending = f"ended with exit status {status}, where its tests come to {of_tests}"

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
