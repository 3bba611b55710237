"""A trend as a plot: a panel for each machine, a line for each side or answer, from zero up."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from reports.output.axes import Axis, Tick, linear
from reports.output.html import environment
from reports.rows.history import Trend, TrendLine
from reports.views.figures import humanise_bytes, humanise_seconds

# In units of the drawing, which are pixels where nobody scales it.
WIDTH, HEIGHT = 960, 240  # of a panel
LEFT, RIGHT, TOP, BOTTOM = 90, 130, 44, 64
_LABELS = 24  # at most so many along the axis


@dataclass(frozen=True)
class PlacedPoint:
    """A point, and the text that is shown for it."""

    x: float
    y: float
    text: str


@dataclass(frozen=True)
class PlacedLine:
    """A line through points; `label` is "" where one before has its name already."""

    name: str
    label: str
    label_y: float
    points: tuple[PlacedPoint, ...]

    @property
    def path(self) -> str:
        """The points as SVG joins them."""
        return " ".join(f"{each.x},{each.y}" for each in self.points)


@dataclass(frozen=True)
class Panel:
    """The lines of one machine."""

    title: str
    top: float
    bottom: float
    ticks: tuple[Tick, ...]
    runs: tuple[Tick, ...]
    changes: tuple[Tick, ...]  # where versions change, and which
    lines: tuple[PlacedLine, ...]


@dataclass(frozen=True)
class Drawing:
    """All that the template draws."""

    title: str
    notes: tuple[str, ...]
    width: int
    height: float
    left: int
    right: int
    panels: tuple[Panel, ...]


def render(trend: Trend) -> str:
    """Render a trend as SVG."""
    template = environment().get_template("trend.svg")
    return template.render(drawing=drawing(trend))


def drawing(trend: Trend) -> Drawing:
    """Place the lines of a trend, the panels from the top down."""
    machines = list(dict.fromkeys(line.machine for line in trend.lines))
    panels = tuple(
        _panel(trend, machine, 24.0 + number * (HEIGHT + TOP + BOTTOM))
        for number, machine in enumerate(machines)
    )
    height = 24.0 + len(panels) * (HEIGHT + TOP + BOTTOM) + 14 * len(trend.notes) + 10
    return Drawing(trend.title, trend.notes, WIDTH, height, LEFT, WIDTH - RIGHT, panels)


def figure(trend: Trend, value: float) -> str:
    """Write a value of a trend with its unit.

    Example::

        >>> figure(Trend("compile seconds", "seconds", ()), 0.25)
        '250 ms'
    """
    if trend.unit == "seconds":
        return humanise_seconds(value)
    return humanise_bytes(round(value)) if trend.unit == "bytes" else f"{value:,.0f}"


def _panel(trend: Trend, machine: str, begin: float) -> Panel:
    lines = [line for line in trend.lines if line.machine == machine]
    top, bottom = begin + TOP, begin + TOP + HEIGHT
    y = linear(max(point.value for line in lines for point in line.points), bottom, top)
    labels = {point.run: point.label for line in lines for point in line.points}
    order = [run for run in trend.order if run in labels]
    span = WIDTH - LEFT - RIGHT
    step = span / max(1, len(order) - 1)
    xs = {run: round(LEFT + place * step, 1) for place, run in enumerate(order)}

    every = max(1, math.ceil(len(order) / _LABELS))
    return Panel(
        title=machine,
        top=top,
        bottom=bottom,
        ticks=y.ticks(lambda value: figure(trend, value)),
        runs=tuple(Tick(xs[run], labels[run]) for run in order[::every]),
        changes=tuple(_changes(lines, order, xs)),
        lines=tuple(_placed(trend, lines, xs, y)),
    )


def _changes(
    lines: Sequence[TrendLine], order: Sequence[int], xs: Mapping[int, float]
) -> Iterator[Tick]:
    """Yield where the versions of a run are others than those of the run before."""
    versions = {point.run: line.versions for line in lines for point in line.points}
    for before, run in pairwise(order):
        there = versions[before].split(", ")
        news = [each for each in versions[run].split(", ") if each not in there]
        if news:
            yield Tick(round((xs[before] + xs[run]) / 2, 1), ", ".join(news))


def _placed(
    trend: Trend,
    lines: Sequence[TrendLine],
    xs: Mapping[int, float],
    y: Axis,
) -> list[PlacedLine]:
    found: list[PlacedLine] = []
    last = {line.name: line for line in lines}
    ends = sorted(last.values(), key=lambda line: -line.points[-1].value)
    # Names stand beside the ends of their lines, and never on each other.
    names: dict[str, float] = {}
    for line in ends:
        above = max(names.values(), default=-math.inf)
        names[line.name] = max(y.at(line.points[-1].value) + 3, above + 11)
    for line in lines:
        versions = f"\n{line.versions}" if line.versions else ""
        points = tuple(
            PlacedPoint(
                xs[point.run],
                y.at(point.value),
                f"{line.name}, run {point.run} ({point.label}): "
                f"{figure(trend, point.value)}{versions}",
            )
            for point in line.points
        )
        label = line.name if last[line.name] is line else ""
        found.append(PlacedLine(line.name, label, names[line.name], points))
    return found
