"""What a flip of the default means for a program, and the times that were judged, as tables."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from reports.document import NOTHING, Cell, Column, Table, Tone, cells
from reports.rows import (
    FLIP_OUTCOMES,
    SIDES,
    Campaign,
    Comparison,
    DriftAttribution,
    DriftCause,
    FlipAnswer,
    FlipOutcome,
    FlipVerdict,
    ProgramRow,
    Side,
    TimeComparison,
    TimeVerdict,
)
from reports.rows.metric_records import Metric
from reports.views import figures
from reports.views.ledger import place

TONES: dict[FlipOutcome, Tone] = {
    "safe": "good",
    "safe but slower or larger": "warn",
    "numerics drift, explained": "note",
    "placed otherwise": "warn",
    "agrees here, not proved": "warn",
    "not repeatable": "warn",
    "could not compare": "warn",
    "different": "bad",
}
ANSWER_TONES: dict[FlipAnswer, Tone] = {
    "yes": "good",
    "yes, at a price": "note",
    "placed otherwise": "warn",
    "not known": "warn",
    "no": "bad",
}
CAUSE_TONES: dict[DriftCause, Tone] = {
    "constant folding": "note",
    "layout or fusion": "note",
    "another program": "bad",
    "a bug": "bad",
    "not attributed": "warn",
}
# In the order of the list: verdicts that a reader should see come first.
_TIMES: dict[TimeVerdict, Tone] = {
    "slower": "warn",
    "faster": "note",
    "inconclusive": "",
    "equivalent": "good",
    "not measured": "",
}


def outcome(flip: FlipVerdict | None) -> Cell:
    """Make a cell of the verdict."""
    if flip is None:
        return NOTHING
    return Cell(flip.outcome, tone=TONES[flip.outcome])


def totals(campaign: Campaign) -> str:
    """Count the programs with each verdict, in one line; "" where no flip was judged.

    Example::

        totals(campaign) == "After a flip: 7 safe; 1 different"
    """
    found = [row.flip.outcome for row in campaign.programs if row.flip]
    counts = [f"{found.count(each):,} {each}" for each in FLIP_OUTCOMES if each in found]
    return f"After a flip: {'; '.join(counts)}" if counts else ""


def reasons(flip: FlipVerdict | None) -> Table:
    """Make one line for each reason of the verdict, the worst first.

    Example::

        reasons(campaign.programs[0].flip).caption
        # "The flip from jax-legacy to jax-simplified: safe"
    """
    titles = ("what", "where", "what helps", "comes to")
    columns = tuple(map(Column, titles))
    if flip is None:
        return Table("The flip", columns, ())
    rows = tuple(
        cells(
            reason.what,
            reason.where or NOTHING,
            reason.action or NOTHING,
            Cell(reason.outcome, tone=TONES[reason.outcome]),
        )
        for reason in flip.reasons
    )
    caption = f"The flip from {flip.left} to {flip.right}: {flip.outcome}"
    return Table(caption, columns, rows, what="reasons")


def drift(found: Sequence[DriftAttribution]) -> Table:
    """Make one line for each pair of sides whose difference was attributed."""
    rows = tuple(
        cells(
            each.left,
            each.right,
            Cell(each.cause, tone=CAUSE_TONES[each.cause]),
            each.equation or NOTHING,
            Cell(place(each.file, each.line)) if each.file else NOTHING,
            each.evidence,
        )
        for each in found
    )
    titles = ("left side", "right side", "cause", "first that differs", "where", "evidence")
    return Table("Numeric drift", tuple(map(Column, titles)), rows, what="attributions")


def times(judged: Sequence[TimeComparison]) -> Table:
    """Make one line for each stage and pair of sides whose times were judged."""
    order = list(_TIMES)
    shown = sorted(judged, key=lambda each: order.index(each.verdict))
    rows = tuple(
        cells(
            each.metric,
            each.left,
            each.right,
            Cell(each.verdict, tone=_TIMES[each.verdict]),
            Cell(figures.humanise_ratio(each.ratio), repr(each.ratio)),
            _interval(each),
            figures.float_cell(each.p_value) if each.p_value is not None else NOTHING,
            f"{each.margin:.1%}",
            " / ".join(map(str, each.samples)),
        )
        for each in shown
    )
    words = ("metric", "left side", "right side", "verdict")
    numbers = ("right to left", "interval", "corrected p", "margin", "samples")
    columns = (*map(Column, words), *(Column(title, numeric=True) for title in numbers))
    return Table("Times, judged", columns, rows, what="times")


def _interval(each: TimeComparison) -> str:
    if each.low is None or each.high is None:
        return "none"
    return f"{figures.humanise_ratio(each.low)} to {figures.humanise_ratio(each.high)}"


# -- the two sides that a page compares ------------------------------------------------------------

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
        before, after = (metric.of(seen.get(side)) for side in (self.before, self.after))
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
