"""Both sides of an interpreter, one after the other, and what differs run once more."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from parity_tests.processes.worker_process import supervise
from parity_tests.suites.stock_runs.outcomes import (
    NOT_RUN,
    is_good,
    names_the_flag,
    outcome_of,
    why_of,
)
from parity_tests.suites.stock_runs.side_run import Asked, SideRun, SuitePython
from reports.rows.suite_runs import STOCK_SIDES, StockSide, SuiteComparison


@dataclass
class Pair:
    """An interpreter and its two sides, as far as they have run."""

    python: SuitePython
    first: dict[StockSide, SideRun] = field(default_factory=dict)
    again: dict[StockSide, SideRun] = field(default_factory=dict)
    asked_again: frozenset[str] = frozenset()

    def has_run(self) -> bool:
        """Say whether both sides have finished."""
        return len(self.first) == 2 and all(run.finished for run in self.first.values())

    def knows(self, test: str) -> bool:
        """Say whether both outcomes of a test are known, as all are at the end."""
        ran = [test in run.heard.finished for run in self.first.values()]
        return self.has_run() or (len(ran) == 2 and all(ran))

    def has_begun(self) -> bool:
        """Say whether a side came as far as its tests: pytest itself had no internal error."""
        return any(run.has_begun for run in self.first.values())

    def tests(self) -> list[str]:
        """Return the tests of both sides, those of legacy first."""
        runs = (self.first[side].selected for side in STOCK_SIDES if side in self.first)
        return list(dict.fromkeys(test for selected in runs for test in selected))

    def compared(self, test: str) -> SuiteComparison:
        """Return what both sides made of a test."""
        legacy, simplified = (outcome_of(self.first[side], test) for side in STOCK_SIDES)
        where, action = why_of(legacy, simplified)
        return SuiteComparison(
            test=test,
            interpreter=self.python.name,
            legacy=legacy,
            simplified=simplified,
            again=self._again(test),
            where=where,
            action=action,
        )

    def _again(self, test: str) -> tuple[str, str] | None:
        if test not in self.asked_again or len(self.again) < 2:
            return None
        legacy, simplified = (outcome_of(self.again[side], test) for side in STOCK_SIDES)
        return legacy.outcome, simplified.outcome


def run_pair(pair: Pair, asked: Asked, folder: Path, tell: Callable[[str], None]) -> None:
    """Run both sides into `pair`, then the tests that differ once more.

    `pair` is given, so that an interrupt leaves what is known by then. `tell` gets a line of text
    when a side begins and ends.
    """
    _run_sides(pair.python, asked, folder / "first", pair.first, tell)
    differing = [test for test in pair.tests() if differs(pair.compared(test))]
    if differing:
        tell(f"{len(differing)} tests differ on {pair.python.name}: they run once more")
        pair.asked_again = frozenset(differing)
        _run_sides(pair.python, replace(asked, only=differing), folder / "again", pair.again, tell)


def _run_sides(
    python: SuitePython,
    asked: Asked,
    folder: Path,
    runs: dict[StockSide, SideRun],
    tell: Callable[[str], None],
) -> None:
    # One after the other: tests that measure time are not disturbed.
    for side in STOCK_SIDES:
        run = runs[side] = SideRun(side, python, asked, folder / side)
        supervise([run], at_once=1)
        tell(f"{side}, {python.name}: {len(run.heard.finished)} tests in {run.seconds:.1f} seconds")


def differs(compared: SuiteComparison) -> bool:
    """Say whether the sides differ; a test that did not run on one is not compared."""
    outcomes = {compared.legacy.outcome, compared.simplified.outcome}
    return len(outcomes) == 2 and NOT_RUN not in outcomes and not knows_the_flag(compared)


def knows_the_flag(compared: SuiteComparison) -> bool:
    """Say whether one side skipped a test, naming JAX's flag, and the other one had no failure."""
    sides = (compared.legacy, compared.simplified)
    ran = [each for each in sides if not names_the_flag(each)]
    return len(ran) == 1 and ran[0].outcome != "skipped" and is_good(ran[0])


def is_repeatable(compared: SuiteComparison) -> bool:
    """Say whether the second run differed as well, and not with the sides swapped."""
    if compared.again is None:
        return True  # it was interrupted: what was seen once stands
    legacy, simplified = compared.again
    swapped = (compared.simplified.outcome, compared.legacy.outcome)
    return legacy != simplified and compared.again != swapped
