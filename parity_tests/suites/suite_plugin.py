"""Pytest's hooks while a suite is watched: which test runs, what fails it, the summary.

Under pytest-xdist each worker has this plugin and a journal; the controller reads the journals.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import pytest

from parity_tests import in_place_of_jax
from parity_tests.suites import reporting
from parity_tests.suites.journal import Journal, merged, versions
from parity_tests.suites.known.accepted import KnownDifferences
from parity_tests.suites.last_words import Listener
from parity_tests.suites.messages import message_of, summary_lines
from parity_tests.suites.recording import Phase, Recorder
from reports.rows.fail_rules import FailRule, FailRuleError, broken, parse
from reports.rows.row import Side
from reports.rows.suite import SuiteDifference, SuiteMeasured, SuiteResult, SuiteRule
from reports.views.texts import visible

_FOLDER = "constparity_journals"  # the key in the input of a worker


# By the mode: what may fail a test that passes without us.
_OWN = (
    "what it jits ran in constparity's {}, whose closures of one program share one executable: a "
    "test that counts compilations may fail by that alone; --constparity=jax-both says what stock "
    "JAX does"
)
_NOTES = {
    "legacy": _OWN.format("legacy"),
    "simplified": _OWN.format("simplified"),
    "prove": "what it jits was traced twice, to prove it: a test that counts traces, prints or "
    "warnings may fail by that alone",
    "both": "what it jits was lowered, compiled and run twice, to compare it: a test that counts "
    "these may fail by that alone",
}


def side_seen(options: Any) -> Side:
    """Return the side whose results the tests see."""
    match options.constparity:
        case "both":
            return cast(Side, options.constparity_sees)
        case "prove":
            return "jax-legacy"
    return cast(Side, options.constparity)


class SuitePlugin:
    """The plugin while `--constparity` is legacy, simplified, both or prove."""

    def __init__(self, options: Any) -> None:
        self._mode: str = options.constparity
        self._sees = side_seen(options)
        self._judges = self._mode in ("both", "prove")
        self._journal = Journal()
        self._recorder = Recorder(self._journal)
        self._rules: list[str] = options.constparity_fail
        self._watcher: Any = None
        self._is_worker = False
        self._folder: Path | None = None  # None where another plugin refuses to be configured
        self._result: SuiteResult | None = None
        self._stderr = os.dup(2)  # before pytest captures what is written to it
        self._listener: Listener | None = None
        self._asked: list[str] = options.constparity_report
        self._said: list[str] = []  # of the reports
        self.reports_later = False  # something is measured first
        in_place_of_jax.install(self._in_place_of_jax, self._begin)

    def _in_place_of_jax(self) -> Mapping[str, Any]:
        """Return the functions to put in the place of JAX's; JAX and the engine are there."""
        if self._mode != "prove":
            return in_place_of_jax.functions_of_engine(self._sees)
        from engine.api import watched_jit

        return {"jit": watched_jit}

    def _begin(self) -> None:
        """Begin to watch, as soon as our functions are in the place of JAX's."""
        became = "are not proved" if self._mode == "prove" else "ran on stock JAX"
        for module in in_place_of_jax.early_modules():
            self._journal.outside(
                f"{module} was imported before the plugin: functions that it had jitted by then "
                f"{became}"
            )
        if self._mode == "both":
            from parity_tests.suites.shadowing import watch_with

            self._watcher = watch_with(self._recorder)
        elif self._mode == "prove":
            from parity_tests.suites.proving import prove_with

            self._watcher = prove_with(self._recorder, self._rules)
        if self._judges:
            os.register_at_fork(after_in_child=self._in_child)

    def pytest_configure(self, config: pytest.Config) -> None:
        """Open the journal: a worker of pytest-xdist is told where by now."""
        workerinput = getattr(config, "workerinput", None)
        self._is_worker = workerinput is not None
        self._folder = Path(
            workerinput[_FOLDER] if workerinput else tempfile.mkdtemp(prefix="constparity-")
        )
        self._journal.open(self._folder, workerinput["workerid"] if workerinput else "main")
        self._requests = [] if workerinput else reporting.requested(self._asked)
        self._known = KnownDifferences(config)
        if self._judges and not self._is_worker:
            self._listener = Listener.start(
                self._folder, self._mode, self._sees, self._stderr, self._requests
            )
        os.close(self._stderr)

    @property
    def recorder(self) -> Recorder | None:
        """The recorder of shadow mode; None in another mode."""
        return self._recorder if self._mode == "both" else None

    def _in_child(self) -> None:
        # JAX's threads are not there in a forked process, and a second run would wait for them.
        self._watcher.stop()
        self._journal.in_child()
        became = "is not proved" if self._mode == "prove" else "ran on one side"
        self._journal.outside(
            f"{self._recorder.test or 'the suite'} forked a process: what that ran, if anything, "
            f"{became}"
        )

    # -- the phases of a test ----------------------------------------------------------------------

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Iterator[None]:
        """Let what a test's setup runs belong to it."""
        return (yield from self._phase(item, "setup"))

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Iterator[None]:
        """Let what a test runs belong to it."""
        return (yield from self._phase(item, "call"))

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> Iterator[None]:
        """Let what a test's teardown runs belong to it."""
        return (yield from self._phase(item, "teardown"))

    def _phase(self, item: pytest.Item, phase: str) -> Iterator[None]:
        if in_place_of_jax.is_missed():
            pytest.exit(
                "constparity: JAX was imported in a way that no import hook sees, so nothing is "
                "compared; import it in the first conftest.py",
                pytest.ExitCode.USAGE_ERROR,
            )
        with self._recorder.during(item.nodeid, phase) as now:
            try:
                result = yield
            except BaseException as error:
                now.skipped = isinstance(error, pytest.skip.Exception)
                if now.differences:
                    item.add_report_section(phase, "constparity", message_of(self._marked(now)))
                elif (now.ran or not self._judges) and not now.skipped:
                    item.add_report_section(phase, "constparity", _NOTES[self._mode])
                raise
            finally:
                if self._mode == "prove" and self._watcher:
                    self._watcher.end_phase(is_last=phase == "teardown")
                if phase == "call" and in_place_of_jax.is_replaced():
                    self._journal.outside(
                        f"{item.nodeid} replaced jax.jit: what it jitted then ran without us"
                    )
        # Here and not in the call of the program: a test that catches exceptions would swallow it.
        self._known.end_phase(item.nodeid, phase, self._marked(now))
        return result

    def _marked(self, now: Phase) -> list[SuiteDifference]:
        if not now.differences:
            return []
        return self._known.marked(now.differences, self._watcher.backend, self._watcher.device_kind)

    def pytest_deselected(self, items: Sequence[pytest.Item]) -> None:
        """Note which tests do not run: they say nothing about a known difference."""
        self._journal.deselected([each.nodeid for each in items])

    # -- the session -------------------------------------------------------------------------------

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Tell a worker of pytest-xdist where its journal belongs."""
        node.workerinput[_FOLDER] = str(self._folder)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Close the journal; the controller reads all of them."""
        backend = self._watcher.backend if self._watcher else ""
        kind = self._watcher.device_kind if self._watcher else ""
        if session.config.option.collectonly:
            self._journal.outside("--collect-only: no test ran, so nothing was compared")
        self._journal.finished(**versions(), backend=backend, device_kind=kind)
        self._journal.close()
        if self._is_worker or not self._judges:
            return
        assert self._folder is not None  # it is configured
        result = merged(self._folder, self._mode, self._sees)
        self._result = self._known.judged(result, self._folder, session)
        if not self.reports_later:
            self.report(session)

    def report(self, session: pytest.Session, measured: SuiteMeasured | None = None) -> None:
        """Write the reports, with what was measured after the tests, and set the exit status."""
        if self._result is None:
            return
        self._result = self._result.model_copy(update={"measured": measured})
        written = list(reporting.written(self._requests, self._result))
        self._said = [line for line, _ in written]
        fails = self._result.fails or not all(done for _, done in written)
        if session.exitstatus == pytest.ExitCode.OK and fails:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Say what was compared, what differs, and what was not compared and why."""
        if self._result is not None:
            terminalreporter.section("constparity")
            for line in (*summary_lines(self._result), *self._said):
                terminalreporter.line(visible(line))

    def pytest_unconfigure(self) -> None:
        """Remove the journals, which the result now holds."""
        if self._listener:
            self._listener.dismiss()
        if self._folder is not None and not self._is_worker:
            with contextlib.suppress(FileNotFoundError):
                shutil.rmtree(self._folder)


# -- the rules of --constparity-fail: what the suite collected is measured after the tests ---------

# Times that are taken while tests run, on several workers, say nothing. The programs are files by
# then, and a campaign measures them on both pipelines in processes of its own.

ROUNDS = 5  # enough for a verdict on times
_WELL = (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED)


class Measuring:
    """The plugin while there are rules; registered last, so that its end of a session is the last.

    Raises `pytest.UsageError` where a rule is written wrongly.
    """

    def __init__(self, suite: SuitePlugin, folder: str, rules: Sequence[str]) -> None:
        self._suite, self._folder = suite, Path.cwd() / folder
        self._rules = tuple(rule for text in rules for rule in _parsed(text))
        suite.reports_later = True

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Measure what the suite collected, and let the reports be written."""
        if getattr(session.config, "workerinput", None) is None:
            self._suite.report(session, self._measured(session))

    def _measured(self, session: pytest.Session) -> SuiteMeasured:
        # Here and not above: they import JAX, whose environment a conftest.py may still set.
        from parity_tests.run import run as campaign
        from parity_tests.run.collection import SidesError
        from parity_tests.run.options import CampaignOptions
        from parity_tests.targets import TargetError

        rounds = ROUNDS if any(each.name == "slower" for each in self._rules) else 0
        if session.exitstatus not in _WELL:
            return _nothing("the run of the tests was not finished")
        if not any(self._folder.glob("*.py")):
            return _nothing(f"the suite collected no program in {self._folder}")
        options = CampaignOptions(sides=("legacy", "simplified"), rounds=rounds)
        try:
            result = campaign.run([str(self._folder)], options)
        except (TargetError, SidesError, OSError) as error:
            return _nothing(str(error))
        found = {each.rule: each.programs for each in broken(result, self._rules)}
        rules = (SuiteRule(rule=each.text, broken_by=found.get(each, ())) for each in self._rules)
        return SuiteMeasured(programs=len(result.programs), rounds=rounds, rules=tuple(rules))


def _nothing(why: str) -> SuiteMeasured:
    return SuiteMeasured(programs=0, rounds=0, rules=(), problem=why)


def _parsed(text: str) -> tuple[FailRule, ...]:
    try:
        rules = parse(text)
    except FailRuleError as error:
        raise pytest.UsageError(f"--constparity-fail: {error}") from error
    if any(each.name == "version-change" for each in rules):
        raise pytest.UsageError(
            "--constparity-fail: 'version-change' is about several versions of JAX; run "
            "`constparity run DIR --jax ... --fail-on version-change` on the collected programs"
        )
    return rules
