"""A planned campaign in the terminal: how far it is, and how it came out."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from rich.table import Table

from parity_tests.cli.terminal import say
from reports.document import Items
from reports.documents import plan
from reports.rows.plan import STATES
from reports.views.texts import cut, left_out

if TYPE_CHECKING:
    from rich.console import Console

    from parity_tests.campaign.scheduling import Tally
    from parity_tests.cli.terminal import Shown
    from reports.rows.plan import PlanReport


LINE_SECONDS = 60.0  # between two lines of progress in a log
_CAUSES_SHOWN = 10
_LIBRARIES_SHOWN = 20
_LENGTH_OF_LINE = 1000


class CampaignProgress:
    """Shows how far a campaign is: its rate, what failed, what is done now.

    Programs that tasks of this machine have behind them count before their task has ended, and
    are no state yet.
    """

    def __init__(self, shown: Shown) -> None:
        self.shown, self.begun = shown, 0.0
        self.tally: Tally | None = None

    def __call__(self, tally: Tally) -> None:
        """Show how far the tasks are that have ended."""
        if tally is not self.tally:  # times are a phase of their own
            self.tally, self.begun = tally, time.monotonic()
        self._show(0.0)

    def at_work(self, programs: float, now: str = "") -> None:
        """Show them with the programs that other tasks have behind them, and what these do now."""
        if self.tally is not None:
            self._show(programs, now)

    def _show(self, at_work: float, now: str = "") -> None:
        assert self.tally is not None
        done, total, states = self.tally.done, self.tally.total, self.tally.states
        minutes = (time.monotonic() - self.begun) / 60
        rate = (done + at_work) / minutes if minutes else 0.0
        bad = [
            f"{states[state]:,} {state}"
            for state in STATES
            if states[state] and state not in ("safe", "proved", "at a price")
        ]
        stored = "" if done == total else f"; {done:,} in the store"
        # A narrow terminal shows the beginning and the end.
        text = f"{rate:.0f} a minute; {', '.join(bad) or 'no failures'}{stored}"
        text += f"; now {now}" if now else ""
        # All are there when the last task has ended, and not when its programs have run.
        self.shown(done if done == total else min(int(done + at_work), total - 1), total, text)


def print_plan(console: Console, report: PlanReport, *, is_short: bool = False) -> None:
    """Print where the programs of a planned campaign stand, and the causes, the worst first.

    In short it is the answer, and the rules that are broken.
    """
    _say(console, plan.answer(report)[0])
    if is_short:
        for line in plan.broken_rules(report):
            _say(console, line)
        return
    for line in plan.lines(report):
        _say(console, line)
    libraries = plan.libraries(report)
    for each in (shown := libraries.lines[:_LIBRARIES_SHOWN]):
        _say(console, each.text)
    if notice := left_out(libraries.lines, shown, libraries.what):
        _say(console, notice)
    states = plan.states(report)
    table = Table(pad_edge=False, show_edge=False)
    for column in states.columns:
        table.add_column(column.title, justify="right" if column.numeric else "left")
    for row in states.rows:
        table.add_row(*(cell.text for cell in row))
    console.print(table)
    causes = plan.causes(report)
    for number, section in enumerate(causes[:_CAUSES_SHOWN], 1):
        _say(console, f"{number}. {section.state}: {section.title}")
        facts = next(each for each in section.parts if isinstance(each, Items))
        for fact in facts.lines:
            _say(console, f"   {fact.strong} {fact.text}")
    if (left := len(causes) - _CAUSES_SHOWN) > 0:
        _say(console, f"{left:,} more causes; --report html:PATH shows them all")


def _say(console: Console, text: str) -> None:
    say(console, cut(text, _LENGTH_OF_LINE))
