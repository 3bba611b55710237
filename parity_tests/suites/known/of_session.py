"""Known differences within a session of pytest: what becomes of a test, and of the whole run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from parity_tests.suites.known.accepted import Accepted
from parity_tests.suites.known.baseline import BaselineError, platform_of, read_baseline
from parity_tests.suites.known.entries import KnownFileError, read_lists
from parity_tests.suites.known.portable import PortableNames
from parity_tests.suites.known.selection import selection_of
from parity_tests.suites.messages import message_of
from parity_tests.suites.versions import versions
from reports import ReportPathError, check_writable
from reports.rows.suite import SuiteBaselineChange, SuiteDifference, SuiteResult, SuiteVersions


class KnownDifferences:
    """The lists and the baseline of a session.

    With pytest's `--runxfail` there are none, as there are no marks then.
    """

    def __init__(self, config: pytest.Config) -> None:
        options = config.option
        self._waiting: dict[str, list[SuiteDifference]] = {}  # of setups, by test
        self._accepted = Accepted()
        if options.runxfail:
            return
        try:
            entries = read_lists(options.constparity_xfail)
            path, update = options.constparity_baseline, options.constparity_update
            names = PortableNames(config.rootpath, config.invocation_params.dir)
            baseline = read_baseline(path, update, names) if path else None
            if update and baseline:
                check_writable(baseline.file)
        except (KnownFileError, BaselineError, ReportPathError) as error:
            raise pytest.UsageError(str(error)) from error
        self._accepted = Accepted(entries, baseline)

    def marked(
        self, differences: Sequence[SuiteDifference], backend: str, device_kind: str
    ) -> list[SuiteDifference]:
        """Return the differences of a phase with their states."""
        platform = platform_of(
            SuiteVersions(**versions(), backend=backend, device_kind=device_kind)
        )
        return self._accepted.marked(differences, platform)

    def end_phase(self, test: str, phase: str, found: Sequence[SuiteDifference]) -> None:
        """Fail a test that has new differences; xfail it where it has known ones alone.

        Known differences of a setup wait for the test: an xfail there would keep it from running.
        """
        if failing := [each for each in found if each.state != "known"]:
            pytest.fail(message_of(failing), pytrace=False)
        if phase == "setup":
            self._waiting[test] = list(found)
            return
        waiting = self._waiting.pop(test, [])
        # Differences of a setup whose test has failed by itself are for the summary alone.
        if known := [*(waiting if phase == "call" else ()), *found]:
            because = "; ".join(dict.fromkeys(each.because for each in known))
            pytest.xfail(f"constparity: known difference: {because}")

    def judged(self, result: SuiteResult, folder: Path, session: pytest.Session) -> SuiteResult:
        """Return a result with the states of its differences and entries, and update a baseline."""
        selection = selection_of(folder, session, result.lost)
        platform, baseline = platform_of(result.versions), self._accepted.baseline
        judged = self._accepted.judged(result, selection, platform)
        if baseline is not None and baseline.is_updated:
            try:
                baseline.update(result, selection, platform)
            except ReportPathError as error:  # a test removed the folder, or the disk is full
                failed = SuiteBaselineChange(
                    program=platform, accepted="", found="", what_to_do=str(error)
                )
                return judged.model_copy(update={"baseline": (failed,)})
        return judged
