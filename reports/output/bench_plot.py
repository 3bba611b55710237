"""A benchmark as a plot: each ratio as a dot with its interval, on one logarithmic axis."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable
from dataclasses import dataclass

from reports.documents.bench import facts
from reports.output.axes import Axis, Tick
from reports.output.html import environment
from reports.rows.bench import Bench, BenchLine

# In units of the drawing, which are pixels where nobody scales it.
WIDTH, LABELS, MARGIN, HEIGHT = 960, 520, 24, 20
# The axis covers all values, but ends at this ratio and its inverse at the latest.
FURTHEST = 64.0
# Characters of a label that fit on a line of it, in the widest of the usual fonts.
_LONGEST = 96


@dataclass(frozen=True)
class Mark:
    """One ratio: a text, how it stands to its target, and where it is drawn."""

    label: str
    outcome: str
    y: float
    x: float
    low: float | None  # None where there is no interval
    high: float | None
    target: float | None

    @property
    def lines(self) -> list[str]:
        """The text, on as many lines as fit beside the axis."""
        return textwrap.wrap(self.label, _LONGEST, break_on_hyphens=False)


@dataclass(frozen=True)
class Drawing:
    """All that the template draws."""

    title: str
    width: int
    height: float
    labels: int
    top: float
    bottom: float
    ticks: tuple[Tick, ...]
    marks: tuple[Mark, ...]

    @property
    def outcomes(self) -> list[str]:
        """What the shapes stand for, of those that are drawn."""
        return list(dict.fromkeys(sorted(mark.outcome for mark in self.marks)))


def render(bench: Bench) -> str:
    """Render the ratios of a benchmark as SVG; counts and bytes are in its table."""
    template = environment().get_template("bench.svg")
    return template.render(drawing=drawing(bench))


def drawing(bench: Bench) -> Drawing:
    """Place the ratios of a benchmark, from the top down in the order of its lines."""
    lines = [line for line in bench.lines if line.kind == "ratio"]
    reach = _reach(lines)

    powers = int(math.log2(reach))
    values = tuple(2.0**power for power in range(-powers, powers + 1))
    axis = Axis(1 / reach, reach, LABELS, WIDTH - MARGIN, values, is_logarithmic=True)
    top = 2.0 * HEIGHT
    marks = tuple(
        Mark(
            label=_label(line),
            outcome=line.outcome or "no target",
            y=top + (index + 0.5) * HEIGHT,
            x=axis.at(line.value),
            low=None if line.low is None else axis.at(line.low),
            high=None if line.high is None else axis.at(line.high),
            target=None if line.target is None else axis.at(line.target.value),
        )
        for index, line in enumerate(lines)
    )
    bottom = top + len(lines) * HEIGHT
    return Drawing(
        title="; ".join(facts(bench)),
        width=WIDTH,
        height=bottom + 1.5 * HEIGHT,
        labels=LABELS,
        top=top,
        bottom=bottom,
        ticks=axis.ticks(_ratio),
        marks=marks,
    )


def _label(line: BenchLine) -> str:
    """Describe a line: `row 1, 10 const args: seconds of a call: legacy / jax-legacy (as fast)`."""
    fast = " (times as fast)" if line.target is not None and line.target.bound == "at least" else ""
    who = line.contestant if line.against is None else f"{line.contestant} / {line.against}"
    return f"{line.row}  {line.case}: {line.what}: {who}{fast}"


def _reach(lines: Iterable[BenchLine]) -> float:
    """Return a power of two that no value or target lies beyond, from 2 to `FURTHEST`."""
    values = [v for line in lines for v in (line.value, line.low, line.high) if v is not None]
    values += [line.target.value for line in lines if line.target is not None]
    furthest = max((abs(math.log2(value)) for value in values if value > 0), default=1.0)
    return min(2.0 ** max(1, math.ceil(furthest)), FURTHEST)


def _ratio(value: float) -> str:
    return f"{value:.0f}" if value >= 1 else f"1/{1 / value:.0f}"
