"""The rules of `--constparity-fail`: what the suite collected is measured after the tests, alone.

Times that are taken while tests run, on several workers, say nothing. The programs are files by
then, and a campaign measures them on both pipelines in processes of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from parity_tests.suites.suite_plugin import SuitePlugin
from reports.rows.fail_rules import FailRule, FailRuleError, broken, parse
from reports.rows.suite import SuiteMeasured, SuiteRule

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
