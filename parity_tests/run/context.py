"""What the steps of a campaign are given: its programs, how they run, and what was measured."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from parity_tests.evidence.folder_layout import CampaignFiles
from parity_tests.evidence.records import Recorded
from parity_tests.judge.sides import Sides, pairs_of
from parity_tests.processes.protocol import Job, Progress
from parity_tests.run.collection import Collected
from parity_tests.run.estimates import Announce
from parity_tests.run.options import CampaignOptions
from reports.rows import Observation, Side, TimeSamples


@dataclass(frozen=True)
class Context:
    """The programs of a campaign, its options and its folder, and what was measured so far.

    By the number of a program, which is its place in `collected`: the `records` of its sides, the
    `samples` of its times, and in `again` the observations of its second measurements.
    `has_stopped` says that the programs without records are left out, after the first finding.
    """

    collected: Collected
    options: CampaignOptions
    folder: Path
    progress: Progress = lambda done, total, text: None
    announce: Announce = lambda text: None
    records: Mapping[int, Mapping[Side, Recorded]] = field(default_factory=dict)
    samples: Mapping[int, tuple[TimeSamples, ...]] = field(default_factory=dict)
    again: Mapping[int, tuple[Observation, ...]] = field(default_factory=dict)
    has_stopped: bool = False

    @property
    def files(self) -> CampaignFiles:
        """The files and folders of the campaign."""
        return CampaignFiles(self.folder)

    @property
    def pairs(self) -> list[Sides]:
        """The pairs of sides that are compared."""
        return pairs_of(self.options.sides)

    def job(self, number: int) -> Job:
        """Return the job of one program."""
        return self.collected.job(number)

    def is_told(self, number: int) -> bool:
        """Say whether a program has a row: it was run on all sides, or cannot be."""
        unavailable = self.collected.programs[number].unavailable is not None
        return not self.has_stopped or unavailable or bool(self.records[number])
