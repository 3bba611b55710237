"""The pictures of the HTML page, placed: the templates draw them as SVG, without any script."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from reports.document import WORST_FIRST, Tone
from reports.output.axes import Axis, Tick, logarithmic
from reports.rows.metric_records import Unit
from reports.views import figures
from reports.views.scatter import Point, Scatter
from reports.views.sweeps import Curve, SweptProgram

# In units of the drawing, which are pixels where nobody scales it.
SIZE, LEFT, BOTTOM, MARGIN = 340, 64, 34, 10
# Points that lie in one square of this side are drawn as one.
SQUARE = 4.0
_NAMED = 3
# Of curves: their height, the room of a title, of a line of text, and of a mark on the axis.
_CURVE, _TITLE, _LINE, _APART = 70, 22, 12, 40


@dataclass(frozen=True)
class Dot:
    """One program, or several that lie on the same spot."""

    x: float
    y: float
    radius: float
    tone: Tone
    text: str
    anchor: str = ""
    low: float | None = None  # the ends of the interval
    high: float | None = None


@dataclass(frozen=True)
class ScatterDrawing:
    """Where the template draws a picture."""

    size: int
    left: float
    right: float
    top: float
    bottom: float
    x_marks: tuple[Tick, ...]
    y_marks: tuple[Tick, ...]
    dots: tuple[Dot, ...]
    has_zero: bool
    has_shared: bool  # some dot stands for several programs


@dataclass(frozen=True)
class CurveDrawing:
    """One figure over the thresholds; `line` are the points of a polyline."""

    title: str
    top: float
    bottom: float
    y_marks: tuple[Tick, ...]
    line: str
    dots: tuple[Dot, ...]


@dataclass(frozen=True)
class SweepDrawing:
    """Where the template draws a sweep: curves below each other, with one axis."""

    width: int
    height: float
    left: float
    right: float
    x_marks: tuple[Tick, ...]
    recommended: float | None  # where its threshold is
    curves: tuple[CurveDrawing, ...]


def scatter(picture: Scatter) -> ScatterDrawing:
    """Place the programs of a picture on logarithmic axes of equal length.

    Example::

        scatter(pictures[0]).dots[0].text == "step: 8.0 MiB before, 817 B after (0.0001x)"
    """
    left, right, top, bottom = LEFT, SIZE - MARGIN, MARGIN, SIZE - BOTTOM
    ends = ((point.before, point.after, point.low, point.high) for point in picture.points)
    numbers = [number for each in ends for number in each if number is not None]
    base = 2.0 if picture.unit == "bytes" else 10.0
    x = logarithmic(numbers, left, right, base)
    y = logarithmic(numbers, bottom, top, base)
    squares: dict[tuple[int, int], list[Point]] = {}
    for point in picture.points:
        square = (int(x.at(point.before) // SQUARE), int(y.at(point.after) // SQUARE))
        squares.setdefault(square, []).append(point)
    dots = [_dot(points, x, y) for points in squares.values()]
    return ScatterDrawing(
        size=SIZE,
        left=left,
        right=right,
        top=top,
        bottom=bottom,
        x_marks=x.ticks(lambda value: _label(value, picture.unit)),
        y_marks=y.ticks(lambda value: _label(value, picture.unit)),
        # The worst are drawn last, over the others.
        dots=tuple(sorted(dots, key=lambda dot: -WORST_FIRST.index(dot.tone))),
        has_zero=any(min(point.before, point.after) <= 0 for point in picture.points),
        has_shared=len(dots) < len(picture.points),
    )


def sweep(swept: SweptProgram) -> SweepDrawing:
    """Place the curves of a sweep below each other, on logarithmic axes.

    A threshold of 0 stands apart at the left.
    """
    thresholds = sorted({point.threshold for curve in swept.curves for point in curve.points})
    start = LEFT + (_APART if 0 in thresholds else 0)
    axis = logarithmic(thresholds, start, SIZE - MARGIN)
    xs = {each: axis.at(each) if each else float(LEFT + MARGIN) for each in thresholds}
    known = [each for each in thresholds if each == swept.recommended]
    marks: list[Tick] = []
    for each in (*known, *thresholds):
        text = figures.humanise_bytes(each).replace(".0 ", " ") if each else "0"
        if all(abs(xs[each] - mark.at) >= _APART for mark in marks):
            marks.append(Tick(xs[each], text))
    curves = [
        _curve(curve, swept.recommended, xs, top=_TITLE + index * (_TITLE + _CURVE))
        for index, curve in enumerate(swept.curves)
    ]
    return SweepDrawing(
        width=SIZE,
        height=curves[-1].bottom + BOTTOM,
        left=LEFT,
        right=SIZE - MARGIN,
        x_marks=tuple(marks),
        recommended=xs[known[0]] if known else None,
        curves=tuple(curves),
    )


def _curve(
    curve: Curve, recommended: int | None, xs: Mapping[int, float], top: float
) -> CurveDrawing:
    values, bottom = [point.value for point in curve.points], top + _CURVE
    y = logarithmic(values, bottom, top)
    marks: list[Tick] = []
    for value in sorted({min(values), max(values)}) if values else ():
        if not marks or marks[-1].at - y.at(value) >= _LINE:
            whole = round(value) if curve.unit == "bytes" else value
            text = figures.cell(whole, curve.unit).text
            marks.append(Tick(y.at(value), text))
    return CurveDrawing(
        title=curve.title,
        top=top,
        bottom=bottom,
        y_marks=tuple(marks),
        line=" ".join(f"{xs[each.threshold]},{y.at(each.value)}" for each in curve.points),
        dots=tuple(
            Dot(
                x=xs[each.threshold],
                y=y.at(each.value),
                radius=5.0 if each.threshold == recommended else 3.0,
                tone="good" if each.threshold == recommended else "note",
                text=each.text,
            )
            for each in curve.points
        ),
    )


def _label(value: float, unit: Unit) -> str:
    if unit == "bytes":
        return figures.humanise_bytes(round(value)).replace(".0 ", " ")
    if unit == "seconds":
        scale, name = next(
            (each for each in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")) if value >= each[0] * 0.99),
            (1e-9, "ns"),
        )
        return f"{value / scale:.0f} {name}"
    return f"{value:,.0f}"


def _dot(points: Sequence[Point], x: Axis, y: Axis) -> Dot:
    worst = min(points, key=lambda point: WORST_FIRST.index(point.tone))
    more = f"\nand {len(points) - _NAMED:,} more on this spot" if len(points) > _NAMED else ""
    shown = [worst, *(point for point in points if point is not worst)][:_NAMED]
    return Dot(
        x=x.at(worst.before),
        y=y.at(worst.after),
        radius=round(min(3.0 + math.log2(len(points)), 7.0), 1),
        tone=worst.tone,
        anchor=worst.anchor,
        text="\n".join(point.text for point in shown) + more,
        low=None if worst.low is None else y.at(worst.low),
        high=None if worst.high is None else y.at(worst.high),
    )
