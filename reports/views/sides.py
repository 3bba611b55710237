"""The two sides that a page compares, before the flip and after it, and what is read from them."""

from __future__ import annotations

import statistics
from dataclasses import dataclass

from reports.rows import SIDES, Campaign, Comparison, Observation, ProgramRow, Side, TimeComparison
from reports.rows.metric_records import Metric

_CANDIDATES: tuple[tuple[Side, Side], ...] = (
    ("jax-legacy", "jax-simplified"),
    ("legacy", "simplified"),
)


@dataclass(frozen=True)
class Flip:
    """The side before the flip, and the side after it."""

    before: Side
    after: Side

    def values(self, row: ProgramRow, metric: Metric) -> tuple[float, float] | None:
        """Return a metric of a program before and after; None where it was not measured twice.

        A time is the median of its rounds where there were any.
        """
        rounds = [self.samples(row, metric, side) for side in (self.before, self.after)]
        if all(rounds):
            return statistics.median(rounds[0]), statistics.median(rounds[1])
        seen = {item.side: item for item in row.observations}
        before, after = (_read(metric, seen.get(side)) for side in (self.before, self.after))
        return None if before is None or after is None else (before, after)

    def samples(self, row: ProgramRow, metric: Metric, side: Side) -> tuple[float, ...]:
        """Return the samples of a time in rounds; empty where there were none."""
        for each in row.time_samples:
            if (each.side, each.metric) == (side, metric.stage):
                return each.seconds
        return ()

    def comparisons(self, row: ProgramRow) -> tuple[Comparison, ...]:
        """Return the comparisons of the two sides."""
        return tuple(
            each for each in row.comparisons if (each.left, each.right) == (self.before, self.after)
        )

    def judged_time(self, row: ProgramRow, metric: Metric) -> TimeComparison | None:
        """Return the judgement of the time that a metric is of; None where there is none."""
        for each in row.times:
            if (each.left, each.right, each.metric) == (self.before, self.after, metric.stage):
                return each if each.verdict != "not measured" else None
        return None


def sides_of(campaign: Campaign) -> tuple[Side, ...]:
    """Return the sides of the campaign, and any other that was observed all the same."""
    observed = {item.side for row in campaign.programs for item in row.observations}
    return campaign.sides + tuple(
        side for side in SIDES if side in observed and side not in campaign.sides
    )


def flip_of(campaign: Campaign) -> Flip | None:
    """Return the two sides that a campaign judges a flip by; None where it ran no such two."""
    for row in campaign.programs:
        if row.flip is not None:
            return Flip(row.flip.left, row.flip.right)
    for before, after in _CANDIDATES:
        if before in campaign.sides and after in campaign.sides:
            return Flip(before, after)
    return None


def _read(metric: Metric, observation: Observation | None) -> float | None:
    return metric.read(observation) if observation else None
