"""From a test that differs to the line that is to blame: the command, and its answers."""

from __future__ import annotations

import os
import shlex
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from parity_tests.bisect.bisecting import Bisecting
from parity_tests.bisect.kept_runs import KeptRuns
from parity_tests.bisect.running import CommandError, Runner, Until
from parity_tests.suites.stock_runs.outcomes import is_good
from reports.documents.bisection import lines
from reports.rows.suite_runs import SuiteComparison


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
