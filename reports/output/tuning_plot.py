"""The curve of a tuned policy as a plot: bytes that are inlined against the time of a call.

Plain SVG from a template, where every text is escaped: a plotting library would be the heaviest
thing that a report needs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from reports.output.axes import linear
from reports.output.html import environment
from reports.rows.experiments import TunePoint, Tuning
from reports.views import figures
from reports.views.texts import cut

WIDTH, HEIGHT = 760, 440
LEFT, RIGHT, TOP, BOTTOM = 90, 730, 70, 380
LONGEST_NAME = 90


@dataclass(frozen=True)
class Mark:
    """A variant of the program; `text` is shown when it is pointed at."""

    x: float
    y: float
    kind: str  # the class of its style
    text: str


def render(tuning: Tuning) -> str:
    """Render the curve as one SVG document, without scripts."""
    most_bytes = max(point.array_bytes for point in tuning.points)
    unit = 1024 ** int(math.log(most_bytes, 1024)) if most_bytes else 1
    x = linear(most_bytes / unit, LEFT, RIGHT)
    y = linear(max(point.call_seconds for point in tuning.points), BOTTOM, TOP)
    hoisted = next(point for point in tuning.points if point.kind == "all hoisted")
    path = [point for point in tuning.points if point.kind in ("all hoisted", "path")]
    upper = y.at(hoisted.call_seconds * (1 + tuning.call_noise))
    lower = y.at(hoisted.call_seconds / (1 + tuning.call_noise))
    marks = [
        Mark(x.at(p.array_bytes / unit), y.at(p.call_seconds), p.kind.rpartition(" ")[2], _text(p))
        for p in tuning.points
    ]
    template = environment().get_template("tuning.svg")
    return template.render(
        title=cut(f"{tuning.program} ({tuning.source})", LONGEST_NAME),
        subtitle=cut(tuning.reason, 120),
        x_ticks=x.ticks(lambda value: figures.humanise_bytes(int(value * unit))),
        y_ticks=y.ticks(figures.humanise_seconds),
        marks=marks,
        path=" ".join(f"{x.at(p.array_bytes / unit)},{y.at(p.call_seconds)}" for p in path),
        noise_top=upper,
        noise_height=round(lower - upper, 1),
    )


def _text(point: TunePoint) -> str:
    names = ", ".join(point.inlined) if point.kind == "alone" else point.kind
    if point.kind == "path":
        names = f"{len(point.inlined)} inlined: {', '.join(point.inlined)}"
    return (
        f"{cut(names, 300)}: {figures.humanise_bytes(point.array_bytes)} inlined, a call "
        f"{figures.humanise_seconds(point.call_seconds)}, compiling "
        f"{figures.humanise_seconds(point.first_seconds)}"
    )
