"""Pytest's hooks while a suite is collected: which test runs, where to write, the summary.

Under pytest-xdist each worker writes what it runs; the controller prepares the folder and writes
the index.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from parity_tests import in_place_of_jax
from parity_tests.in_place_of_jax import after_import
from parity_tests.suites.collected.folder import (
    BEFORE_TESTS,
    INDEX,
    CollectedProgram,
    CollectionFolder,
    CollectionFolderError,
    Ran,
    prepare,
)
from reports.views.texts import counted

if TYPE_CHECKING:
    from parity_tests.suites.collected.collector import Collector

# Keys in the input and in the output of a worker.
_FOLDERS, _STOPPED = "constparity_collect", "constparity_collect_stopped"


_WELL = (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED)
_MOST = 20  # reasons that the summary lists; the index lists every program


class CollectingPlugin:
    """The plugin while `--constparity-collect` names a folder."""

    def __init__(self, folder: str) -> None:
        self._asked = folder
        self._ran = BEFORE_TESTS
        self._orders: dict[str, int] = {}
        self._folder: CollectionFolder | None = None
        self._collector: Collector | None = None
        self._stopped = ""
        self._rows: tuple[CollectedProgram, ...] = ()
        self._root = Path.cwd()  # before a test changes it
        after_import("engine", self._begin)

    def _begin(self) -> None:
        # Here and not above: it imports JAX, whose environment a conftest.py may still set.
        from parity_tests.suites.collected.collector import Collector

        self._collector = Collector(self._root, lambda: self._ran)
        self._collector.install(in_place_of_jax.early_modules())
        if self._folder is not None:
            self._collector.open(self._folder)

    # -- where to write ----------------------------------------------------------------------------

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self, session: pytest.Session) -> None:
        """Prepare the folder, and let the collector write, before any worker starts."""
        workerinput = getattr(session.config, "workerinput", None)
        self._is_worker = workerinput is not None
        self._paths = workerinput[_FOLDERS] if workerinput else self._prepared()
        self._folder = CollectionFolder(*map(Path, self._paths))
        if self._collector is not None:
            self._collector.open(self._folder)

    def _prepared(self) -> tuple[str, str]:
        folder = self._root / self._asked
        try:
            prepare(folder)
        except CollectionFolderError as error:
            raise pytest.UsageError(f"--constparity-collect: {error}") from error
        except OSError as error:
            raise pytest.UsageError(
                f"--constparity-collect: cannot write to {self._asked!r}: {error.strerror or error}"
            ) from error
        return str(folder), tempfile.mkdtemp(prefix="constparity-collect-")

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Tell a worker of pytest-xdist where to write."""
        node.workerinput[_FOLDERS] = self._paths

    # -- which test runs ---------------------------------------------------------------------------

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Remember the order of the tests, which is the same in each worker."""
        for number, item in enumerate(session.items):
            self._orders.setdefault(item.nodeid, number)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Iterator[None]:
        """Let what a test's setup runs belong to it."""
        return (yield from self._during(Ran(item.nodeid, self._orders[item.nodeid])))

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Iterator[None]:
        """Let what a test runs belong to it."""
        return (yield from self._during(Ran(item.nodeid, self._orders[item.nodeid])))

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> Iterator[None]:
        """Let what a teardown runs belong to no test, and come after all of them.

        Which test a whole module's teardown comes with depends on the number of workers.
        """
        order = len(self._orders) + self._orders[item.nodeid]
        return (yield from self._during(Ran("", order)))

    def _during(self, ran: Ran) -> Iterator[None]:
        before, self._ran = self._ran, ran
        try:
            return (yield)
        finally:
            self._ran = before

    # -- the end -----------------------------------------------------------------------------------

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any, error: object) -> None:
        """Take over why a worker stopped writing."""
        self._stopped = self._stopped or getattr(node, "workeroutput", {}).get(_STOPPED, "")

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Write the index; a collection that is not whole fails the session."""
        if self._collector is not None:
            self._stopped = self._stopped or self._collector.stopped
        if self._is_worker:
            session.config.workeroutput[_STOPPED] = self._stopped  # type: ignore[attr-defined]
            return
        self._finish()
        if self._stopped and session.exitstatus in _WELL:
            session.exitstatus = pytest.ExitCode.INTERNAL_ERROR

    def _finish(self) -> None:
        assert self._folder is not None
        self._rows = self._folder.rows()
        try:
            self._folder.finish(self._rows, self._stopped)
        except (OSError, CollectionFolderError) as error:
            self._stopped = self._stopped or str(error)

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Say how many programs were written, and which were not and why."""
        terminalreporter.section("constparity: collected programs")
        for line in summary_lines(self._asked, self._rows, self._stopped):
            terminalreporter.line(line)

    def pytest_unconfigure(self) -> None:
        """Remove the rows of this run, which the index now has."""
        if self._folder is not None and not self._is_worker:
            shutil.rmtree(self._paths[1], ignore_errors=True)


def summary_lines(
    folder: str, rows: Sequence[CollectedProgram], stopped: str = ""
) -> Iterator[str]:
    """Yield how many programs were written where, and which were not and why."""
    written = [row for row in rows if row.file]
    if written:
        yield f"{counted(len(written), 'program')} written: constparity run {folder}"
    elif not rows:
        yield "no program ran, so none was written"
    reasons: dict[str, list[CollectedProgram]] = {}
    for row in rows:
        for lost in row.lost:
            reasons.setdefault(f"written without {lost}", []).append(row)
        if row.why:
            reasons.setdefault(f"not written: {row.why}", []).append(row)
    by_size = sorted(reasons.items(), key=lambda item: (-len(item[1]), item[0]))
    for reason, found in by_size[:_MOST]:
        what, _, why = reason.partition(": ")
        yield f"{what}: {_programs(found)}{': ' if why else ''}{why}"
    if (more := len(by_size) - _MOST) > 0:
        yield f"and {counted(more, 'more reason')}, in {folder}/{INDEX}"
    if stopped:
        yield f"ERROR: collecting stopped: {stopped}"


def _programs(rows: Sequence[CollectedProgram]) -> str:
    first = f"{rows[0].name} ({rows[0].source})" if rows[0].source else rows[0].name
    return f"{counted(len(rows), 'program')}, as {first}" if len(rows) > 1 else first
