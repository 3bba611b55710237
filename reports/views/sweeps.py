"""The sweeps of a campaign as data: what each program takes under each embed threshold.

`reports.output.plots` draws the curves.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from reports.document import Cell, Column, Table
from reports.rows import Campaign, Environment, ProgramRow
from reports.rows.experiments import Sweep, SweepPoint
from reports.rows.metric_records import Unit
from reports.views import figures
from reports.views.texts import cut, left_out, more

MAX_SWEEPS = 24
MAX_THRESHOLDS = 40
# A column of the table: its heading, the field of a point, and the unit.
_COLUMNS: tuple[tuple[str, str, Unit], ...] = (
    ("call", "call_seconds", "seconds"),
    ("dispatch", "dispatch_seconds", "seconds"),
    ("compile", "compile_seconds", "seconds"),
    ("StableHLO", "text_bytes", "bytes"),
    ("inlined constants", "inlined_bytes", "bytes"),
    ("constants after optimising", "optimised_constant_bytes", "bytes"),
    ("arguments", "argument_bytes", "bytes"),
    ("temporaries", "temporary_bytes", "bytes"),
)
_CURVES: tuple[tuple[str, str, Unit], ...] = (
    ("Call", "call_seconds", "seconds"),
    ("Compile", "compile_seconds", "seconds"),
    ("StableHLO size", "text_bytes", "bytes"),
)


@dataclass(frozen=True)
class CurvePoint:
    """One threshold in bytes and what the program takes under it; `text` is for the pointer."""

    threshold: int
    value: float
    text: str


@dataclass(frozen=True)
class Curve:
    """One figure of a program over the thresholds."""

    title: str
    unit: Unit
    points: tuple[CurvePoint, ...]


@dataclass(frozen=True)
class SweptProgram:
    """One sweep: its curves, the same as a table, and the recommendation in a sentence."""

    name: str
    anchor: str  # of the section of the program; "" where the page has none
    recommended: int | None
    summary: str
    notes: tuple[str, ...]
    curves: tuple[Curve, ...]
    table: Table


@dataclass(frozen=True)
class Sweeps:
    """The sweeps of a page, and how many are left out."""

    programs: tuple[SweptProgram, ...]
    notice: str


def sweeps_of(
    campaign: Campaign, programs: Sequence[ProgramRow], anchors: Sequence[str] = ()
) -> Sweeps:
    """Make the sweeps of a page, in the order of its programs."""
    by_name = {(each.program, each.source): each for each in campaign.sweeps}
    found = [
        (by_name[row.name, row.source], anchors[index] if anchors else "")
        for index, row in enumerate(programs)
        if (row.name, row.source) in by_name
    ]
    shown = found[:MAX_SWEEPS]
    return Sweeps(
        tuple(_swept(sweep, anchor, campaign.environment) for sweep, anchor in shown),
        left_out(found, shown, "sweeps"),
    )


def _swept(sweep: Sweep, anchor: str, environment: Environment) -> SweptProgram:
    points = sweep.points[:MAX_THRESHOLDS]
    return SweptProgram(
        name=sweep.program,
        anchor=anchor,
        recommended=sweep.recommended,
        summary=_summary(sweep),
        notes=tuple(_notes(sweep, environment)),
        curves=tuple(_curve(sweep, points, *each) for each in _CURVES),
        table=_table(sweep, points),
    )


def _summary(sweep: Sweep) -> str:
    reason = cut(sweep.reason, 500)
    if sweep.precompute_constants == "auto":
        return f'Recommended: precompute_constants="auto", {reason}.'
    if sweep.recommended is None:
        return f"Nothing to choose: {reason}."
    return f"Recommended: {sweep.recommended:,} bytes, {reason}."


def _notes(sweep: Sweep, environment: Environment) -> Iterator[str]:
    noise = (figures.humanise_share(each) for each in (sweep.call_noise, sweep.compile_noise))
    yield (
        "Equal measurements were apart by {} for a call and {} to compile; swept {}.".format(
            *noise, sweep.created
        )
    )
    of_result = environment.model_dump()
    apart = [
        f"{name.replace('_', ' ')} {value} (the result: {of_result[name]})"
        for name, value in sweep.environment.model_dump().items()
        if value != of_result[name]
    ]
    if apart:
        yield f"Measured with another {cut(', '.join(apart), 500)}."


def _curve(sweep: Sweep, points: Sequence[SweepPoint], title: str, field: str, unit: Unit) -> Curve:
    values = [(each, float(getattr(each, field))) for each in points]
    return Curve(
        title,
        unit,
        tuple(
            CurvePoint(each.threshold, value, _text(sweep, each, title, field, unit))
            for each, value in values
            if math.isfinite(value)
        ),
    )


def _text(sweep: Sweep, point: SweepPoint, title: str, field: str, unit: Unit) -> str:
    chosen = ", recommended" if point.threshold == sweep.recommended else ""
    value = figures.cell(getattr(point, field), unit).text
    return (
        f"{sweep.program}, threshold {point.threshold:,} bytes{chosen}: {title.lower()} {value}, "
        f"const args {point.const_args:,}"
    ).replace("stablehlo", "StableHLO")


def _name(sweep: Sweep, point: SweepPoint) -> str:
    if point is sweep.preamble:
        mark = " *" if sweep.precompute_constants == "auto" else ""
        return f"{point.threshold:,}, preamble{mark}"
    return f"{point.threshold:,}{' *' if point.threshold == sweep.recommended else ''}"


def _table(sweep: Sweep, points: Sequence[SweepPoint]) -> Table:
    columns = (
        Column("threshold, bytes", numeric=True),
        Column("const args", numeric=True),
        *(Column(title, numeric=True) for title, _, _ in _COLUMNS),
    )
    rows = tuple(
        (
            Cell(_name(sweep, each)),
            figures.count_cell(each.const_args),
            *(figures.cell(getattr(each, field), unit) for _, field, unit in _COLUMNS),
        )
        for each in (*points, *([sweep.preamble] if sweep.preamble else []))
    )
    hidden = len(sweep.points) - len(points)
    notice = more(hidden, "thresholds") if hidden else ""
    return Table(f"{cut(sweep.program, 80)} under each threshold", columns, rows, notice)
