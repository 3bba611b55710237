"""The collector: watches the engine, and hands each program that is new to the folder."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Hashable, Sequence
from pathlib import Path
from typing import Any

from engine import api
from engine.runtime.watching import Execution, Watcher, watch, watcher
from parity_tests.suites.collected.folder import BEFORE_TESTS, Candidate, CollectionFolder, Ran
from parity_tests.suites.collected.writing import aliases_in, candidate, not_seen


class Collector:
    """The engine's watcher while a suite is collected; another one may run the programs.

    `ran` says which test runs now. `stopped` says why nothing more is written, "" while all is
    well.
    """

    def __init__(self, root: Path, ran: Callable[[], Ran]) -> None:
        self.stopped = ""
        self._root = root
        self._ran = ran
        self._folder: CollectionFolder | None = None
        self._waiting: list[Candidate] = []
        self._then: Watcher = lambda execution: execution.run()
        # The place of the first test that ran a program: per traced program and what is one array
        # in its calls, and per identity.
        self._traced: weakref.WeakKeyDictionary[Any, dict[Hashable, int]] = (
            weakref.WeakKeyDictionary()
        )
        self._written: dict[str, int] = {}

    def install(self, early: Sequence[str]) -> None:
        """Watch all programs from now on, and let the watcher that is there run them.

        `early` are modules whose programs no watcher sees.
        """
        for module in early:
            self._collect(not_seen(module, BEFORE_TESTS))
        self._then = watcher() or self._then
        api.forget_calls()
        watch(self)

    def open(self, folder: CollectionFolder) -> None:
        """Write to a folder from now on, and first what ran before: a conftest.py runs programs."""
        self._folder = folder
        for each in self._waiting:
            self._keep(each)
        self._waiting.clear()

    def __call__(self, execution: Execution) -> Sequence[Any]:
        """Collect a program if this is its first run, and execute it."""
        # Before it runs: the run may consume its arguments, and may crash.
        ran, aliases = self._ran(), aliases_in(execution)
        orders = self._traced.setdefault(execution.closed_jaxpr, {})
        if not self.stopped and ran.order < orders.get(aliases, ran.order + 1):
            orders[aliases] = ran.order
            self._collect(candidate(execution, ran, self._root))
        return self._then(execution)

    def _collect(self, found: Candidate) -> None:
        identity = found.row.identity
        if self._written.get(identity, found.order + 1) <= found.order:
            return  # the same text, traced again: a closure over another array perhaps
        self._written[identity] = found.order
        if self._folder is None:
            self._waiting.append(found)
        else:
            self._keep(found)

    def _keep(self, found: Candidate) -> None:
        assert self._folder is not None
        try:
            self._folder.keep(found)
        except OSError as error:
            # A full disk fails no test; the session says so at its end.
            self.stopped = self.stopped or str(error)
