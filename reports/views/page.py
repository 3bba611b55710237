"""A campaign as the Markdown page: its tables and sentences, before any markup.

The HTML page (`web_page.py`) shares some of them. Tables and texts have a maximum size, and say how
much was left out.
"""

from __future__ import annotations

from dataclasses import dataclass

from reports.rows import (
    SIDES,
    VERDICTS,
    Campaign,
    Environment,
    ProgramRow,
    Side,
    worst_first,
)
from reports.views import flip, measured
from reports.views.cells import Cell, Column, Table, Tone
from reports.views.overview import anchor_of, overview
from reports.views.program import MARKS, Section, section
from reports.views.sweeps import Sweeps, sweeps_of
from reports.views.texts import cut

MAX_PROGRAMS = 500
_VALUE_LENGTH = 200


@dataclass(frozen=True)
class Page:
    """A whole report: the first screen, then one section per program.

    `question` answers whether the default may be flipped, `agreement` says how our pipelines stand
    to stock JAX.
    """

    title: str
    tone: Tone
    question: str
    agreement: str
    provenance: tuple[str, ...]  # of two saved campaigns that were not measured alike
    measured: tuple[str, ...]  # the versions that each side has told
    counts: str
    flips: str  # the same for a flip of the default; "" where no flip was judged
    created: str
    overview: Table
    notes: tuple[str, ...]
    sweeps: Sweeps
    environment: Table
    sections: tuple[Section, ...]


def page(campaign: Campaign) -> Page:
    """Make the page of a campaign, the programs first that a flip breaks.

    Example::

        page(load_campaign("report.json")).counts == "3 programs: 2 parity, 1 difference"
    """
    headline = campaign.headline
    mark, tone = MARKS[campaign.verdict]
    title = f"{mark} {campaign.verdict}"
    if headline.flip is not None:
        title, tone = f"flip: {headline.flip}", flip.ANSWER_TONES[headline.flip]
    sides = sides_of(campaign)
    programs = worst_first(campaign.programs)
    shown = programs[:MAX_PROGRAMS]
    apart = measured.are_apart(programs)
    return Page(
        title=title,
        tone=tone,
        question=headline.question,
        agreement=headline.agreement,
        provenance=campaign.provenance,
        measured=measured.lines_of(campaign),
        counts=counts(programs),
        flips=flip.totals(campaign),
        created=campaign.created,
        overview=overview(shown, sides, left_out=len(programs) - len(shown)),
        notes=(*_notes(sides), *left_out(campaign.not_run)),
        sweeps=sweeps_of(campaign, programs),
        environment=environment_table(campaign.environment),
        sections=tuple(
            section(row, sides, anchor_of(index), apart=apart) for index, row in enumerate(shown)
        ),
    )


def sides_of(campaign: Campaign) -> tuple[Side, ...]:
    """Return the sides of the campaign, and any other that was observed all the same."""
    observed = {item.side for row in campaign.programs for item in row.observations}
    return campaign.sides + tuple(
        side for side in SIDES if side in observed and side not in campaign.sides
    )


def counts(programs: list[ProgramRow]) -> str:
    """Count the programs by verdict, in one line."""
    if not programs:
        return "no program was run"
    found = [(sum(row.verdict == verdict for row in programs), verdict) for verdict in VERDICTS]
    listed = ", ".join(f"{count:,} {verdict}" for count, verdict in found if count)
    return f"{len(programs):,} program{'s' if len(programs) != 1 else ''}: {listed}"


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


def left_out(not_run: tuple[str, ...]) -> tuple[str, ...]:
    """Name the programs that were not run, because the campaign stopped at a finding before."""
    if not not_run:
        return ()
    named = cut(", ".join(not_run), _VALUE_LENGTH)
    return (f"Not run, for the campaign stopped at its first finding (-x): {named}.",)


def environment_table(environment: Environment) -> Table:
    """Make the table of what the figures were measured with."""
    rows = tuple(
        (Cell(name.replace("_", " ")), Cell(cut(str(value), _VALUE_LENGTH)))
        for name, value in environment.model_dump().items()
    )
    return Table("Environment", (Column("what"), Column("value")), rows)
