"""Pictures of a campaign as data: programs before and after the flip, and how far outputs moved.

`reports.output.plots` draws them.
"""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from reports.document import Tone
from reports.rows import ProgramRow, metrics
from reports.rows.metric_records import Metric, Picture, Unit
from reports.views import figures, flip
from reports.views.flip import Flip
from reports.views.texts import counted

# A program is counted as smaller or larger beyond this ratio.
NOTICEABLE = 1.10


@dataclass(frozen=True)
class Point:
    """One program: a metric before and after the flip, with the interval of `after` if known."""

    name: str
    anchor: str
    before: float
    after: float
    tone: Tone
    text: str  # name and figures, for the pointer
    low: float | None = None
    high: float | None = None

    @property
    def ratio(self) -> float | None:
        """The value after the flip to the value before it; None where that is zero."""
        return self.after / self.before if self.before > 0 else None

    @property
    def change(self) -> int:
        """Minus 1 where the flip clearly takes less, 1 where it clearly takes more, else 0."""
        more = self.after > self.before * NOTICEABLE
        return 1 if more else -1 if self.after * NOTICEABLE < self.before else 0


@dataclass(frozen=True)
class Scatter:
    """One metric of all programs, and the sentence that says the same as the picture."""

    metric: Metric
    title: str
    note: str
    doubt: str  # "one sample each, not judged"; "" where the figures stand for themselves
    points: tuple[Point, ...]
    summary: str

    @property
    def unit(self) -> Unit:
        """The unit of both axes."""
        return self.metric.unit

    def count(self, change: int) -> int:
        """Count the programs of one change."""
        return sum(point.change == change for point in self.points)

    @property
    def median(self) -> str:
        """The median ratio as text."""
        return _median(self.points)


@dataclass(frozen=True)
class UlpBar:
    """The number of outputs whose largest distance lies in a range."""

    label: str
    count: int


@dataclass(frozen=True)
class UlpDistances:
    """How far outputs moved, in units in the last place: the bars, and the rest in a sentence."""

    bars: tuple[UlpBar, ...]
    summary: str


def pictured() -> list[tuple[Metric, Picture]]:
    """Return the metrics that have a picture, in the order of a page.

    Example::

        >>> [picture.title for _, picture in pictured()][:2]
        ['StableHLO size', 'Compile time']
    """
    found = [(metric, metric.picture) for metric in metrics.METRICS if metric.picture]
    return sorted(found, key=lambda each: each[1].place)


def scatters(
    programs: Sequence[ProgramRow], anchors: Sequence[str], sides: Flip
) -> tuple[Scatter, ...]:
    """Make a picture for each metric that was measured on both sides of some program."""
    made = (_scatter(metric, picture, programs, anchors, sides) for metric, picture in pictured())
    return tuple(each for each in made if each.points)


def _scatter(
    metric: Metric,
    picture: Picture,
    programs: Sequence[ProgramRow],
    anchors: Sequence[str],
    sides: Flip,
) -> Scatter:
    points = []
    for row, anchor in zip(programs, anchors, strict=True):
        values = sides.values(row, metric)
        if values is not None and all(math.isfinite(value) for value in values):
            points.append(_point(row, anchor, metric, values, sides))
    doubt = _doubt(picture, metric, programs, sides)
    judged = metric.stage is not None and not doubt
    note = picture.note or doubt or ("lines are intervals" if judged else "")
    summary = _summary(points, len(programs))
    return Scatter(metric, picture.title, note, doubt, tuple(points), summary)


def _doubt(picture: Picture, metric: Metric, programs: Sequence[ProgramRow], sides: Flip) -> str:
    """Say why nobody should judge by the figures alone; "" where that is not so."""
    if not picture.sampled or any(sides.judged_time(row, metric) for row in programs):
        return ""
    if any(sides.samples(row, metric, sides.after) for row in programs):
        return "too few rounds to judge"
    return "one sample each, not judged"


def _point(
    row: ProgramRow, anchor: str, metric: Metric, values: tuple[float, float], sides: Flip
) -> Point:
    before, after = values
    judged = sides.judged_time(row, metric) if metric.stage else None
    low = high = None
    if judged is not None and judged.low is not None and judged.high is not None:
        low, high = before * judged.low, before * judged.high
    texts = [figures.cell(value, metric.unit).text for value in (before, after)]
    ratio = f" ({figures.humanise_ratio(after / before)})" if before > 0 else ""
    return Point(
        name=row.name,
        anchor=anchor,
        before=before,
        after=after,
        tone=flip.TONES[row.flip.outcome] if row.flip else "",
        text=f"{row.name}: {texts[0]} before, {texts[1]} after{ratio}",
        low=low,
        high=high,
    )


def _summary(points: Sequence[Point], programs: int) -> str:
    changes = Counter(point.change for point in points)
    said = (
        f"{counted(changes[-1], 'program')} clearly below the line, {changes[1]:,} clearly above, "
        f"{changes[0]:,} near it (within {NOTICEABLE - 1:.0%}); median ratio {_median(points)}."
    )
    missing = programs - len(points)
    return f"{said} Not measured on both sides: {missing:,}." if missing else said


def _median(points: Sequence[Point]) -> str:
    ratios = [point.ratio for point in points if point.ratio is not None]
    return figures.humanise_ratio(statistics.median(ratios)) if ratios else "unknown"


def ulp_distances(programs: Sequence[ProgramRow], sides: Flip) -> UlpDistances | None:
    """Count the output leaves of all programs by their distance in ULP; None without outputs."""
    leaves = [
        leaf
        for row in programs
        for each in sides.comparisons(row)
        if each.metric == "outputs"
        for leaf in each.leaves
    ]
    if not leaves:
        return None
    same = sum(leaf.rung == "bitwise" for leaf in leaves)
    others = [leaf for leaf in leaves if leaf.rung != "bitwise"]
    powers = Counter(
        leaf.max_ulp.bit_length() for leaf in others if leaf.max_ulp is not None and leaf.max_ulp
    )
    measured = range(1, max(powers) + 1) if powers else range(0)
    bars = tuple(UlpBar(_range_of(power), powers[power]) for power in measured)
    unknown = len(others) - sum(powers.values())
    said = f"{same:,} of {len(leaves):,} outputs are equal bit by bit"
    if others:
        said += f"; {len(others):,} are not"
    if unknown:
        said += f", {unknown:,} of them without a distance (integers, NaN, other types)"
    return UlpDistances(_folded(bars), f"{said}.")


_MOST_BARS = 16


def _folded(bars: tuple[UlpBar, ...]) -> tuple[UlpBar, ...]:
    """Join the largest distances into one bar."""
    if len(bars) <= _MOST_BARS:
        return bars
    kept, rest = bars[: _MOST_BARS - 1], bars[_MOST_BARS - 1 :]
    first = 2 ** (_MOST_BARS - 1)
    return (*kept, UlpBar(f"{first:,} and more", sum(bar.count for bar in rest)))


def _range_of(power: int) -> str:
    low, high = 2 ** (power - 1), 2**power - 1
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"
