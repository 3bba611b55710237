"""The overview of a page: one line for each program, its verdict and its most telling metrics."""

from __future__ import annotations

from collections.abc import Sequence

from reports.document import NOTHING, Cell, Column, Table
from reports.rows import VERDICTS, Environment, Observation, ProgramRow, Side, metrics
from reports.rows.metric_records import Metric, OverviewColumn
from reports.views import figures, flip
from reports.views.program import MARKS
from reports.views.texts import cut

_NAMES_LENGTH = 200


def overview(programs: Sequence[ProgramRow], sides: tuple[Side, ...]) -> Table:
    """Make the table of a page's programs, each metric with a column of the figures of `sides`."""
    reference = _reference(sides)
    shown = sorted(
        ((metric, metric.overview) for metric in metrics.METRICS if metric.overview),
        key=lambda each: each[1].place,
    )
    columns = (
        Column("program"),
        Column("verdict"),
        Column("flip"),
        *(Column(_title(column, reference), numeric=True) for _, column in shown),
    )
    rows = tuple(_line(row, shown, sides, reference) for row in programs)
    return Table("Verdict by program", columns, rows, what="programs")


def _line(
    row: ProgramRow,
    shown: Sequence[tuple[Metric, OverviewColumn]],
    sides: tuple[Side, ...],
    reference: Side | None,
) -> tuple[Cell, ...]:
    by_side = {item.side: item for item in row.observations}
    seen = [by_side.get(side) for side in sides]
    base = by_side.get(reference) if reference else None
    texts = [[_text(metric, column, item, base) for item in seen] for metric, column in shown]
    # The first column says that a side failed.
    texts[0] = [
        item.failure.kind if item and item.failure else text
        for item, text in zip(seen, texts[0], strict=True)
    ]
    mark, tone = MARKS[row.verdict]
    return (
        Cell(row.name),
        Cell(f"{mark} {row.verdict}", tone=tone),
        flip.outcome(row.flip),
        *(Cell(" · ".join(each)) for each in texts),
    )


def _reference(sides: tuple[Side, ...]) -> Side | None:
    """Return the side that ratios are to: the side that people have today, where it was run."""
    candidates: tuple[Side, ...] = ("jax-legacy", "legacy")
    return next((side for side in candidates if side in sides), None)


def _title(column: OverviewColumn, reference: Side | None) -> str:
    ratio = f", ratio to {reference}" if column.as_ratio and reference else ""
    return f"{column.title}{ratio}"


def _text(
    metric: Metric, column: OverviewColumn, seen: Observation | None, base: Observation | None
) -> str:
    value = metric.of(seen)
    if seen is None or value is None:
        return NOTHING.text
    if column.beside:  # a count that it should not exceed
        return f"{value:,} ({metrics.metric(column.beside).read(seen):,})"
    reference = metric.of(base)
    if column.as_ratio and reference:
        return figures.humanise_ratio(value / reference)
    # A ratio to another side than the heading names would mislead; a value shows its unit.
    return figures.cell(value, metric.unit).text


# -- what stands beside it -------------------------------------------------------------------------


def counts(programs: list[ProgramRow]) -> str:
    """Count the programs by verdict, in one line."""
    if not programs:
        return "no program was run"
    found = [(sum(row.verdict == verdict for row in programs), verdict) for verdict in VERDICTS]
    listed = ", ".join(f"{count:,} {verdict}" for count, verdict in found if count)
    return f"{len(programs):,} program{'s' if len(programs) != 1 else ''}: {listed}"


def notes(sides: tuple[Side, ...]) -> tuple[str, ...]:
    """Explain the table: which figures stand for which sides, and what is not judged."""
    order = f"Where a cell lists several figures, they stand for {', '.join(sides)}, in that order"
    return (
        f"{order}." if len(sides) > 1 else f"The figures are those of {', '.join(sides)}.",
        "The times in this table are not judged: those of tracing, lowering, compiling and the "
        "first call are one sample of one process, those of later calls medians of a few. A ratio "
        "below 1 is faster than the side it is divided by; seconds stand where that side has no "
        "time. Judged times, where rounds were run, are with each program.",
        "A dash stands for what was not measured, never for zero.",
    )


def left_out(not_run: tuple[str, ...]) -> tuple[str, ...]:
    """Name the programs that were not run, because the campaign ended before."""
    if not not_run:
        return ()
    named = cut(", ".join(not_run), _NAMES_LENGTH)
    return (f"Not run, for the campaign was interrupted or stopped at a finding (-x): {named}.",)


def environment_table(environment: Environment) -> Table:
    """Make the table of what the figures were measured with."""
    rows = tuple(
        (Cell(name.replace("_", " ")), Cell(str(value)))
        for name, value in environment.model_dump().items()
    )
    return Table("Environment", (Column("what"), Column("value")), rows)
