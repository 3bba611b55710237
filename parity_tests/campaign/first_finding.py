"""The option -x: measurements end with the first program that breaks a rule."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from parity_tests.campaign.collection import Collected
from parity_tests.campaign.lost_hazards import detect_alone
from parity_tests.campaign.one_program import draft_of
from parity_tests.campaign.options import CampaignOptions
from parity_tests.evidence.records import Recorded
from parity_tests.judge.sides import pairs_of
from parity_tests.judge.verdict import conclude
from parity_tests.processes.warm_workers import warm_arbiter
from reports.rows import ProgramRow, Side


@dataclass
class FirstFinding:
    """Judges programs that have run on all sides, until one of them ends the measurements."""

    collected: Collected
    options: CampaignOptions
    folder: Path
    is_asked: Callable[[ProgramRow], bool]
    has_stopped: bool = False

    def __call__(self, number: int, records: Mapping[Side, Recorded]) -> bool:
        """Judge a program that has run on all sides, and say whether it is the last."""
        program, job = self.collected.programs[number], self.collected.job(number)
        limits = self.options.time_limit
        if not self.has_stopped:
            with warm_arbiter(self.folder, limits, fresh=self.options.fresh) as arbitrate:
                draft = draft_of(
                    program,
                    records,
                    self.options.sides,
                    partial(arbitrate, job),
                    partial(detect_alone, job, self.folder, limits),
                )
            row = draft.row(conclude(draft.findings, pairs_of(self.options.sides)))
            self.has_stopped = self.is_asked(row)
        return self.has_stopped
