"""A campaign as a page: every table and sentence of the reports, before any markup.

The Markdown and the HTML report are two templates over the `Page` that is made here, so what a
report says is decided once. Tables and texts have a maximum size; what it leaves out is said.
"""

from __future__ import annotations

from dataclasses import dataclass

from reports.rows import SIDES, Campaign, Environment, Observation, ProgramRow, Side, Verdict
from reports.views import figures, flip
from reports.views.cells import NOTHING, Cell, Column, Table, Tone
from reports.views.program import VERDICTS, Section, section
from reports.views.texts import cut

MAX_PROGRAMS = 500
_NAME_LENGTH = 80
_VALUE_LENGTH = 200


@dataclass(frozen=True)
class Page:
    """A whole report: what the first screen says, then one section per program."""

    title: str
    tone: Tone
    counts: str
    flips: str  # the same for a flip of the default; "" where no flip was judged
    created: str
    overview: Table
    notes: tuple[str, ...]
    environment: Table
    sections: tuple[Section, ...]


def page(campaign: Campaign) -> Page:
    """The page of a campaign, its programs sorted so that what differs comes first.

    Example:
        `page(load_campaign("report.json")).counts` is, say, `3 programs: 2 parity, 1 difference`.
    """
    mark, tone = VERDICTS[campaign.verdict]
    sides = _sides(campaign)
    order = list(VERDICTS)
    programs = sorted(campaign.programs, key=lambda row: order.index(row.verdict))
    shown = programs[:MAX_PROGRAMS]
    return Page(
        title=f"{mark} {campaign.verdict}",
        tone=tone,
        counts=_counts(programs),
        flips=flip.totals(campaign),
        created=campaign.created,
        overview=_overview(shown, sides, len(programs) - len(shown)),
        notes=_notes(sides),
        environment=_environment(campaign.environment),
        sections=tuple(section(row, sides, _anchor(index)) for index, row in enumerate(shown)),
    )


def _sides(campaign: Campaign) -> tuple[Side, ...]:
    """The sides of the campaign, and any other that was observed all the same."""
    observed = {item.side for row in campaign.programs for item in row.observations}
    return campaign.sides + tuple(
        side for side in SIDES if side in observed and side not in campaign.sides
    )


def _counts(programs: list[ProgramRow]) -> str:
    if not programs:
        return "no program was run"
    verdicts: tuple[Verdict, ...] = ("parity", "difference", "could not compare")
    counts = [(sum(row.verdict == verdict for row in programs), verdict) for verdict in verdicts]
    listed = ", ".join(f"{count:,} {verdict}" for count, verdict in counts if count)
    return f"{len(programs):,} program{'s' if len(programs) != 1 else ''}: {listed}"


def _overview(programs: list[ProgramRow], sides: tuple[Side, ...], left_out: int) -> Table:
    reference = _reference(sides)
    groups = (
        "StableHLO size",
        "inlined constants",
        "const args (unique captured)",
        f"compile time, ratio to {reference}" if reference else "compile time",
    )
    columns = (
        Column("program"),
        Column("verdict"),
        Column("flip"),
        *(Column(side, group, numeric=True) for group in groups for side in sides),
    )
    rows = []
    for index, row in enumerate(programs):
        by_side = {item.side: item for item in row.observations}
        seen = [by_side.get(side) for side in sides]
        base = _compile_seconds(by_side.get(reference)) if reference else None
        mark, tone = VERDICTS[row.verdict]
        rows.append(
            (
                Cell(cut(row.name, _NAME_LENGTH), link=_anchor(index)),
                Cell(f"{mark} {row.verdict}", cut("; ".join(row.reasons), _VALUE_LENGTH), tone),
                flip.outcome(row.flip),
                *map(_size, seen),
                *map(_inlined, seen),
                *map(_const_args, seen),
                *(_compile_time(item, base) for item in seen),
            )
        )
    notice = ""
    if left_out:
        notice = (
            f"{left_out:,} more programs are left out of this page, the ones with the best "
            "verdicts; the JSON report has them."
        )
    return Table("Verdict by program", columns, tuple(rows), notice)


def _reference(sides: tuple[Side, ...]) -> Side | None:
    """The side that compile times are divided by: what people have today, where it was run."""
    candidates: tuple[Side, ...] = ("jax-legacy", "legacy")
    return next((side for side in candidates if side in sides), None)


def _size(observation: Observation | None) -> Cell:
    if observation is None:
        return NOTHING
    if observation.failure is not None:
        failure = observation.failure
        title = cut(f"{failure.stage}: {failure.type}: {failure.message}", _VALUE_LENGTH)
        return Cell(failure.kind, title, "bad")
    if observation.stablehlo is None:
        return NOTHING
    return figures.bytes_cell(observation.stablehlo.text_bytes)


def _inlined(observation: Observation | None) -> Cell:
    if observation is None or observation.proof is None:
        return NOTHING
    return figures.bytes_cell(observation.proof.inlined_constant_bytes)


def _const_args(observation: Observation | None) -> Cell:
    if observation is None or observation.proof is None:
        return NOTHING
    arguments, captured = observation.proof.const_args, observation.proof.unique_captured
    # More const args than arrays: some array is passed more than once.
    tone: Tone = "warn" if arguments > captured else ""
    title = f"{arguments:,} const args, {captured:,} unique captured arrays"
    return Cell(f"{arguments:,} ({captured:,})", title, tone)


def _compile_seconds(observation: Observation | None) -> float | None:
    if observation is None or observation.times is None:
        return None
    return observation.times.compile


def _compile_time(observation: Observation | None, base: float | None) -> Cell:
    seconds = _compile_seconds(observation)
    if seconds is None:
        return NOTHING
    if not base:
        # A ratio to another side than the heading names would mislead; seconds show their unit.
        return figures.seconds_cell(seconds)
    return Cell(figures.humanise_ratio(seconds / base), f"{seconds!r} s")


def _notes(sides: tuple[Side, ...]) -> tuple[str, ...]:
    order = f"Where a cell lists several figures, they stand for {', '.join(sides)}, in that order"
    return (
        f"{order}." if len(sides) > 1 else f"The figures are those of {', '.join(sides)}.",
        "The times in this table are not judged: those of tracing, lowering, compiling and the "
        "first call are one sample of one process, those of later calls medians of a few. A ratio "
        "below 1 is faster than the side it is divided by; seconds stand where that side has no "
        "time. Judged times, where rounds were run, are with each program.",
        "A dash stands for what was not measured, never for zero.",
    )


def _environment(environment: Environment) -> Table:
    rows = tuple(
        (Cell(name.replace("_", " ")), Cell(cut(str(value), _VALUE_LENGTH)))
        for name, value in environment.model_dump().items()
    )
    return Table("Environment", (Column("what"), Column("value")), rows)


def _anchor(index: int) -> str:
    return f"program-{index + 1}"
