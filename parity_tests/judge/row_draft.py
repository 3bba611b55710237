"""A row of the report before its verdict: collected while a campaign goes on, and built once."""

from __future__ import annotations

from dataclasses import dataclass

from parity_tests.judge.chance import with_chance_marked
from parity_tests.judge.findings import Findings
from parity_tests.judge.verdict import Conclusion
from reports.rows import Observation, ProgramRow, TimeSamples


@dataclass(frozen=True)
class RowDraft:
    """What a row says of a program, except its verdict; `observations` are those that it shows."""

    name: str
    source: str
    summary: str
    findings: Findings
    target: str = ""
    digest: str = ""
    tags: tuple[str, ...] = ()
    observations: tuple[Observation, ...] = ()
    time_samples: tuple[TimeSamples, ...] = ()

    def row(self, conclusion: Conclusion) -> ProgramRow:
        """Return the row, its verdict as concluded."""
        found = self.findings
        return ProgramRow(
            name=self.name,
            source=self.source,
            target=self.target,
            digest=self.digest,
            summary=self.summary,
            tags=self.tags,
            verdict=conclusion.verdict,
            reasons=conclusion.reasons,
            observations=self.observations,
            comparisons=with_chance_marked(found),
            time_samples=self.time_samples,
            times=found.times,
            hazards=found.hazards,
            drift=found.drift,
            flip=conclusion.flip,
            too_late=found.too_late,
            proved_only=found.proved_only,
        )
