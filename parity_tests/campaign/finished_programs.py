"""Programs as they finish: each is kept in the store, and with -x one may be the last."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from parity_tests.campaign.collection import Collected
from parity_tests.campaign.lost_hazards import detect_alone
from parity_tests.campaign.one_program import draft_of
from parity_tests.campaign.options import CampaignOptions, side_with_hazards
from parity_tests.evidence.found import HazardsFound
from parity_tests.evidence.records import Recorded
from parity_tests.judge.row_draft import RowDraft
from parity_tests.judge.sides import pairs_of
from parity_tests.judge.verdict import conclude
from parity_tests.processes.warm_workers import Truth, warm_arbiter
from reports.rows import ProgramRow, Side

_LATER = "it comes after the last program, which the campaign has not reached"


@dataclass
class FinishedPrograms:
    """Judges programs that have run on all sides.

    `keep` is given the row of each. `is_asked`, the option -x, may end the measurements with it;
    only then are processes started to judge a program, for others may be measured at this moment.
    """

    collected: Collected
    options: CampaignOptions
    folder: Path
    is_asked: Callable[[ProgramRow], bool] | None = None
    keep: Callable[[int, ProgramRow], object] | None = None
    has_stopped: bool = False

    def __call__(self, number: int, records: Mapping[Side, Recorded]) -> bool:
        """Judge a program that has run on all sides, and say whether it is the last."""
        if self.has_stopped:
            return True
        draft = self._draft(number, records)
        row = draft.row(conclude(draft.findings, pairs_of(self.options.sides)))
        if self.keep is not None:
            self.keep(number, row)
        self.has_stopped = self.is_asked is not None and self.is_asked(row)
        return self.has_stopped

    def _draft(self, number: int, records: Mapping[Side, Recorded]) -> RowDraft:
        program, job = self.collected.programs[number], self.collected.job(number)
        sides, limits = self.options.sides, self.options.time_limit
        hazards_on = side_with_hazards(self.options)
        if self.is_asked is None:
            asks = _no_arbiter_yet, _no_hazards_yet
            return draft_of(program, records, sides, *asks, hazards_on=hazards_on)
        with warm_arbiter(self.folder, limits, fresh=self.options.fresh) as arbitrate:
            return draft_of(
                program,
                records,
                sides,
                partial(arbitrate, job),
                partial(detect_alone, job, self.folder, limits),
                hazards_on=hazards_on,
            )


def _no_arbiter_yet() -> Truth:
    return Truth(missing=_LATER)


def _no_hazards_yet(reads: str) -> HazardsFound:
    return HazardsFound(not_detected=_LATER)
