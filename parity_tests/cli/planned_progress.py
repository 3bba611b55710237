"""How far a planned campaign is: its rate, the time that is left, and what failed by kind."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from reports.rows.plan import STATES

if TYPE_CHECKING:
    from parity_tests.cli.terminal import Shown
    from parity_tests.planned.going import Tally

LINE_SECONDS = 60.0  # between two lines of progress in a log


class CampaignProgress:
    """Shows how far a campaign is: its rate, the time that is left, what failed, what is done now.

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
        left = _left((total - done - at_work) / rate) if rate else "time not known yet"
        bad = [
            f"{states[state]:,} {state}"
            for state in STATES
            if states[state] and state not in ("safe", "at a price")
        ]
        stored = "" if done == total else f"{done:,} in the store, "
        left = "" if done == total else f", {left}"
        text = f"{stored}{rate:.0f} a minute{left}; {', '.join(bad) or 'no failures'}"
        text += f"; now {now}" if now else ""
        # All are there when the last task has ended, and not when its programs have run.
        self.shown(done if done == total else min(int(done + at_work), total - 1), total, text)


def _left(minutes: float) -> str:
    """Say how long it takes still, the last minutes in seconds: it is not over at 0."""
    return f"{minutes:.0f} min left" if minutes >= 2 else f"{max(1, minutes * 60):.0f} s left"
