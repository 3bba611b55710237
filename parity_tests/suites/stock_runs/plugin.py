"""The hooks of `--constparity=jax-both`.

The parent collects as always. Where pytest would run the tests, processes of stock JAX run them,
and what these say is reported as the outcome of the parent's own items.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import signal
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from parity_tests.bisect.bisecting import Bisecting
from parity_tests.bisect.kept_runs import KeptRuns
from parity_tests.bisect.running import CommandError, Runner, Until
from parity_tests.processes.interpreters import InterpreterError
from parity_tests.suites import reporting
from parity_tests.suites.stock_runs import arguments
from parity_tests.suites.stock_runs.outcomes import Pair, is_good, run_pair, without_numbers
from parity_tests.suites.stock_runs.replaying import Place, reports_of
from parity_tests.suites.stock_runs.side_run import Asked, suite_pythons
from parity_tests.suites.stock_runs.verdicts import Verdict, result_of, verdicts_of
from reports.documents.bisection import lines
from reports.documents.suite_runs import WHAT_HELPS, why_of
from reports.rows.suite_runs import SuiteComparison, SuiteRuns, SuiteSide, SuiteVersionChange

NAME = "constparity-stock-runs"
# A test of JAX takes minutes at most. A job that hangs longer is ended by its service, which says
# nothing of the test.
DEFAULT_TIMEOUT = 3600.0
# Options of the modes that see programs, and of a debugger, which reaches no other process.
_OF_OTHERS = {
    "constparity_xfail": "--constparity-xfail",
    "constparity_baseline": "--constparity-baseline",
    "constparity_update": "--constparity-update",
    "constparity_fail": "--constparity-fail",
    "usepdb": "--pdb",
    "trace": "--trace",
}


def register(config: pytest.Config) -> None:
    """Register the hooks of the mode, before pytest-xdist starts workers of the parent.

    Raises `pytest.UsageError` where an option or an interpreter does not fit.
    """
    for name, option in _OF_OTHERS.items():
        if getattr(config.option, name, None):
            raise pytest.UsageError(f"--constparity=jax-both takes no {option}")
    if (config.option.constparity_timeout or 0) < 0:
        raise pytest.UsageError("--constparity-timeout: the seconds are below 0; 0 is no limit")
    config.pluginmanager.register(StockRuns(config), NAME)


class StockRuns:
    """The hooks, and what is known so far."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._requests = reporting.requested(config.option.constparity_report)
        self._options = arguments.options_of_children(config)
        self._options["basetemp"] = config.option.basetemp
        self._arguments = arguments.arguments_of_children(config)
        self._given = arguments.given_arguments(config)
        _without_workers(config)
        try:
            pythons = suite_pythons(config.option.constparity_python)
        except InterpreterError as error:
            raise pytest.UsageError(f"--constparity-python: {error}") from error
        self._pairs = [Pair(python) for python in pythons]
        self._blaming = Blaming(config, pythons[0].name)
        self._said: list[str] = []  # of the reports
        self._deselected: list[str] = []
        self.result: SuiteRuns | None = None

    def pytest_deselected(self, items: Sequence[pytest.Item]) -> None:
        """Note the tests that --stepwise leaves out: it knows what failed, and a child does not."""
        if getattr(self._config.option, "stepwise", False):
            self._deselected += [each.nodeid for each in items]

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool | None:
        """Run the children in the place of the tests, and report what they say."""
        option = session.config.option
        if option.collectonly:
            # As pytest's --junitxml: a report, which says that no test ran.
            self.result = result_of([], [], self._given)
            self._said.append("--collect-only: no test ran, so nothing was compared")
            return None
        if session.testsfailed and not option.continue_on_collection_errors:
            return None  # pytest says how many, and stops
        with tempfile.TemporaryDirectory(prefix="constparity-") as folder:
            try:
                self._run(session, Path(folder))
            finally:
                # After Ctrl-C as well: what is known is told.
                self._report(session)
        if self.result is not None:
            self._blaming.bisect(self.result.differences, self._tell)
        _stop_where_asked(session)
        return True

    def _run(self, session: pytest.Session, folder: Path) -> None:
        items = [item.nodeid for item in session.items]
        timeout = self._config.option.constparity_timeout
        asked = Asked(
            arguments=self._arguments,
            options=self._options,
            started_in=self._config.invocation_params.dir,
            timeout=DEFAULT_TIMEOUT if timeout is None else timeout,
            has_cache=self._config.pluginmanager.has_plugin("cacheprovider"),
            only=arguments.last_failed(self._config, items),
            without=frozenset(self._deselected),
        )
        with _terminated_as_interrupted():
            for number, pair in enumerate(self._pairs):
                run_pair(pair, asked, folder / str(number), self._tell)
                self._refuse_without_beginning(pair)

    def _report(self, session: pytest.Session) -> None:
        """Give pytest the reports of the tests that are known, and keep the record."""
        items = {item.nodeid: item for item in session.items}
        reported = []
        for verdict in verdicts_of(list(items), self._pairs):
            if session.shouldfail or session.shouldstop:
                break  # as -x asks
            ending = self._blaming.ending(verdict.worst.compared)
            _log(session, verdict, items.get(verdict.test), ending)
            reported.append(verdict)
        told = {verdict.test for verdict in reported}
        self.result = result_of(
            self._pairs, reported, self._given, left_out=len(items.keys() - told)
        )

    def _refuse_without_beginning(self, pair: Pair) -> None:
        """Raise where neither side came to its tests: that is no outcome of any of them."""
        if not pair.has_begun():
            run = pair.first["jax-legacy"]
            self._pairs.remove(pair)
            raise pytest.UsageError(
                f"pytest did not start on {pair.python.name}, {pair.python.python}: "
                f"{run.ending}\n{run.log_tail()}"
            )

    def _tell(self, line: str) -> None:
        terminal = self._config.pluginmanager.get_plugin("terminalreporter")
        if terminal is not None and self._config.get_verbosity() >= 0:
            terminal.ensure_newline()
            terminal.write_line(f"constparity: {line}")

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Write what both sides said."""
        if self.result is not None:
            terminalreporter.section("constparity: stock JAX on both sides")
            for line in (*summary_lines(self.result), *self._blaming.said, *self._said):
                terminalreporter.write_line(line)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Write the reports; one that is not written fails the run, and so do faults of sides."""
        if self.result is None:
            return
        fails = bool(self.result.faults)
        for line, is_written in reporting.written(self._requests, self.result):
            self._said.append(line)
            fails |= not is_written
        if fails and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED


def _without_workers(config: pytest.Config) -> None:
    """Have pytest-xdist start no workers here: `-n` is for the children."""
    off: dict[str, Any] = {"numprocesses": None, "dist": "no", "tx": [], "distload": False}
    for name, value in off.items():
        if hasattr(config.option, name):
            setattr(config.option, name, value)


def _log(session: pytest.Session, verdict: Verdict, item: pytest.Item | None, ending: str) -> None:
    place = Place.of_test(verdict.test) if item is None else Place.of_item(item)
    hook = session.config.hook if item is None else item.ihook
    hook.pytest_runtest_logstart(nodeid=place.test, location=place.location)
    for report in reports_of(verdict, place, ending):
        hook.pytest_runtest_logreport(report=report)
    hook.pytest_runtest_logfinish(nodeid=place.test, location=place.location)


def _stop_where_asked(session: pytest.Session) -> None:
    if session.shouldfail:
        raise session.Failed(session.shouldfail)
    if session.shouldstop:
        raise session.Interrupted(session.shouldstop)


@contextlib.contextmanager
def _terminated_as_interrupted() -> Iterator[None]:
    """Treat SIGTERM as Ctrl-C: children in sessions of their own would outlive this process."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


# -- the line that is to blame ---------------------------------------------------------------------


class Blaming:
    """The commands that bisect tests of a suite, and what those said that were run.

    `here` names this interpreter: in another one there may be no engine.
    """

    def __init__(self, config: pytest.Config, here: str) -> None:
        self._here = here
        self._root, self._started_in = config.rootpath, config.invocation_params.dir
        self._most: int = config.option.constparity_bisect
        self.said: list[str] = []

    def ending(self, compared: SuiteComparison) -> str:
        """Return how to find what is to blame for a test; "" where it cannot be found here."""
        if not self._fails_after(compared):
            return ""
        command = shlex.join(self._command("python", compared.test))
        return f"Which line is to blame: constparity bisect -- {command}"

    def _fails_after(self, compared: SuiteComparison) -> bool:
        return compared.interpreter == self._here and is_good(compared.legacy)

    def _command(self, python: str, test: str) -> list[str]:
        file, colons, name = test.partition("::")
        place = os.path.relpath(self._root / file, self._started_in)
        # A cache that tells of failures would be left behind by the search.
        return [python, "-m", "pytest", "-p", "no:cacheprovider", f"{place}{colons}{name}"]

    def bisect(self, differences: Sequence[SuiteComparison], tell: Callable[[str], None]) -> None:
        """Bisect the first tests that differ, as many as were asked for."""
        tests = [each.test for each in differences if self._fails_after(each)]
        for test in tests[: self._most]:
            tell(f"bisecting {test}")
            self.said += ["", f"to blame for {test}:", *self._answer(test, tell)]

    def _answer(self, test: str, tell: Callable[[str], None]) -> list[str]:
        runner = Runner(self._command(sys.executable, test))
        with tempfile.TemporaryDirectory(prefix="constparity-") as folder:
            kept = KeptRuns(Path(folder) / "runs.jsonl")
            try:
                found = Bisecting(runner, Until.of("exit"), kept, progress=tell).run()
            except CommandError as error:
                return [f"  {error}"]
        return [f"  {line}" for line in lines(found)]


# -- the section of the terminal summary -----------------------------------------------------------

MOST_TESTS = 10  # of a group
MOST_GROUPS = 20


def summary_lines(result: SuiteRuns) -> Iterator[str]:
    """Yield the lines of the summary.

    Example::

        "jax-legacy: JAX 0.10.2, jaxlib 0.10.2, Python 3.11.9; flag False: 12 passed, 1 failed"
    """
    for side in result.sides:
        yield _side_line(side)
        yield from _doubts(side)
    if result.left_out:
        yield f"stopped early: {result.left_out} of the tests are not among these"
    yield from result.faults
    yield f"{result.alike} alike{_counts(result)}"
    yield from _grouped("different", result.differences)
    if not all(each.action for each in result.differences):
        yield WHAT_HELPS
    yield from _grouped(
        "not repeatable: different once, alike when run again", result.not_repeatable
    )
    yield from _grouped("not compared", result.not_compared)
    yield from _grouped("fails on both sides, otherwise on each", result.fail_otherwise)
    yield from _grouped("fails alike on both sides", result.fail_alike)
    yield from _grouped("knows the flag: one side skips it for that", result.know_the_flag)
    yield from _grouped("set JAX's flag, so one side ran twice", result.set_the_flag)
    yield from _changed("alike on both sides, and not in all interpreters", result.version_changes)


def _counts(result: SuiteRuns) -> str:
    counts = {
        "fail alike": result.fail_alike,
        "fail otherwise": result.fail_otherwise,
        "different": result.differences,
        "not repeatable": result.not_repeatable,
        "not compared": result.not_compared,
        "know the flag": result.know_the_flag,
        "set the flag": result.set_the_flag,
    }
    return "".join(f", {len(found)} {name}" for name, found in counts.items() if found)


def _side_line(side: SuiteSide) -> str:
    counts = ", ".join(f"{number} {outcome}" for outcome, number in side.counts.items())
    jax = f"JAX {side.jax}, jaxlib {side.jaxlib}, Python {side.python}"
    flag = "not read, for nothing imported JAX" if side.flag_at_end is None else side.flag_at_end
    return f"{side.side}: {jax}; flag {flag}: {counts or 'no tests'} in {side.seconds:.1f} seconds"


def _doubts(side: SuiteSide) -> Iterator[str]:
    if side.doubt:
        yield f"  the flag of {side.side} was {side.doubt}"
    if side.starts > 1:
        yield f"  {side.starts} processes, for tests ended {side.starts - 1} of them"
    if side.ending:
        yield f"  {side.ending}"


def _grouped(title: str, found: Sequence[SuiteComparison]) -> Iterator[str]:
    """Yield tests by what they say, numbers aside, the largest group first."""
    groups: dict[tuple[str, str], list[SuiteComparison]] = {}
    for each in found:
        key = (each.interpreter, without_numbers(_said(each)))
        groups.setdefault(key, []).append(each)
    yield from _listed(
        title, {_said_of(group): [each.test for each in group] for group in groups.values()}
    )


def _said_of(group: Sequence[SuiteComparison]) -> str:
    said, why = _said(group[0]), why_of(group[0])
    if any(_said(each) != said for each in group):
        said += ", with the numbers of the first"
    return f"{said}\n    -> {why}" if why else said


def _said(compared: SuiteComparison) -> str:
    legacy, simplified = str(compared.legacy), str(compared.simplified)
    if legacy == simplified:
        return f"{legacy} ({compared.interpreter})"
    return f"jax-legacy {legacy} | jax-simplified {simplified} ({compared.interpreter})"


def _changed(title: str, found: Sequence[SuiteVersionChange]) -> Iterator[str]:
    groups: dict[str, list[str]] = {}
    for each in found:
        groups.setdefault(str(each), []).append(each.test)
    yield from _listed(title, groups)


def _listed(title: str, groups: Mapping[str, Sequence[str]]) -> Iterator[str]:
    by_size = sorted(groups.items(), key=lambda group: len(group[1]), reverse=True)
    if groups:
        yield ""
        yield f"{title}: {sum(map(len, groups.values()))}"
    for said, tests in by_size[:MOST_GROUPS]:
        yield from f"  {len(tests)} x {said}".splitlines()
        yield from (f"    {test}" for test in tests[:MOST_TESTS])
        if len(tests) > MOST_TESTS:
            yield f"    and {len(tests) - MOST_TESTS} more"
    if len(by_size) > MOST_GROUPS:
        yield f"  and {len(by_size) - MOST_GROUPS} more groups"
