"""A campaign as a document: what breaks, what costs, everything else as counts, then each program.

A comment has the first half; the page of a campaign that can be sorted and searched is made
elsewhere, by `reports.output.html_page`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from reports.document import (
    Detail,
    Document,
    Heading,
    Items,
    Later,
    Line,
    Part,
    Section,
    Sections,
    items,
    with_rows,
)
from reports.rows import Campaign, Environment, ProgramRow, Side, answer_of, worst_first
from reports.views import flip, growth, measured, overview, program
from reports.views.causes import QUIET, Cause, Standing, listed, of_pipelines, standings
from reports.views.flip import sides_of
from reports.views.ledger import hazards, ledger, shown_by
from reports.views.program import MARKS, comparisons, failures, leaves
from reports.views.sweeps import SweptProgram, sweeps_of
from reports.views.texts import counted, terms_of


def document(campaign: Campaign) -> Document:
    """Make the document of a campaign, the programs first that a flip breaks."""
    headline, found = campaign.headline, standings(campaign)
    proof = (headline.proof,) if headline.proof else ()
    said = (headline.question, headline.agreement, *proof, *_rest(campaign, found))
    measured_with = f"Measured with {_with(campaign.environment)}; {campaign.created}"
    _, tone = MARKS[campaign.verdict]
    return Document(
        answer=_answer(campaign),
        tone=flip.ANSWER_TONES[headline.flip] if headline.flip else tone,
        lines=tuple(
            f"{line}."
            for line in (
                *(*said, measured_with, *campaign.provenance),
                *growth.lines([("", campaign)]),
            )
        ),
        parts=(
            *_blocks(campaign, found),
            Items(tuple(_words(campaign, found)), "words"),
            Detail(Later(lambda: _details(campaign))),
        ),
        file="RESULT.json",
    )


def _answer(campaign: Campaign) -> str:
    if campaign.headline.flip is not None:
        return f"flip: {campaign.headline.flip}"
    return f"{MARKS[campaign.verdict][0]} {campaign.verdict}"


def _with(environment: Environment) -> str:
    e = environment
    return (
        f"constparity {e.constparity} on jax {e.jax}, jaxlib {e.jaxlib}, Python {e.python}; "
        f"{e.device_count} x {e.device_kind} ({e.backend}), {e.system}"
    )


# -- what needs attention, by cause ----------------------------------------------------------------


def _blocks(campaign: Campaign, found: Sequence[Standing]) -> Iterator[Part]:
    """Yield the programs of each state that needs attention, those of one cause together."""
    total = len(campaign.programs)
    for each in found:
        if each.causes:
            yield Heading(f"{each.title} {each.count:,} of {counted(total, 'program')}")
            yield _groups(each.causes)
    if ours := of_pipelines(campaign):
        count = sum(len(each.members) for each in ours)
        title = f"constparity's own pipelines differ from stock JAX in {counted(count, 'program')}"
        yield Heading(f"{title}, counted above as well")
        yield _groups(ours)


def _groups(causes: Sequence[Cause]) -> Sections:
    return Sections(tuple(map(_group, causes)), "groups", is_folded=True)


def _group(cause: Cause) -> Section:
    where = f"{listed(cause.places, 2, 'lines')}: " if cause.places else ""
    action = f" → {cause.action}" if cause.action else ""
    members = tuple(Line(f"({each.source}): {each.what}", each.name) for each in cause.members)
    return Section(
        title=f"{where}{listed(cause.symptoms, 2, 'findings')}{action}",
        state=counted(len(cause.members), "program"),
        members=len(cause.members),
        parts=(Items(members, "programs"),),
    )


def _words(campaign: Campaign, found: Sequence[Standing]) -> Iterator[Line]:
    """Yield the words of the findings above, with their meanings."""
    causes = [*(cause for each in found for cause in each.causes), *of_pipelines(campaign)]
    terms = terms_of(member.what for cause in causes for member in cause.members)
    yield from (Line(term.meaning, f"{term.word}:") for term in terms)


def _rest(campaign: Campaign, found: Sequence[Standing]) -> Iterator[str]:
    """Count the programs that need no attention, and those that were not run."""
    total = len(campaign.programs)
    for each in found:
        if each.state in QUIET:
            yield f"{each.title} {each.count:,} of {counted(total, 'program')}"
    # A verdict may find something that a flip does not touch, as between stock JAX and ours.
    others = Counter(
        row.verdict
        for row in campaign.programs
        if answer_of(row.flip) == "yes" and row.verdict != "parity"
    )
    for verdict, count in others.items():
        yield f"Of these, {count:,} have the verdict: {verdict}"
    if not total:
        yield "No program was run"
    if campaign.not_run:
        left_out = counted(len(campaign.not_run), "program")
        yield f"Not run, for the campaign was interrupted or stopped at a finding: {left_out}"


# -- the tables, and each program ------------------------------------------------------------------


def _details(campaign: Campaign) -> Iterator[Part]:
    programs, sides = worst_first(campaign.programs), sides_of(campaign)
    yield items(filter(None, (overview.counts(programs), flip.totals(campaign))))
    table = overview.overview(programs, sides)
    notes = (*overview.notes(sides), *overview.left_out(campaign.not_run))
    lines = (f"{line}." for line in measured.lines_of(campaign))
    parts = items(lines), replace(table, caption=""), items(notes)
    yield Section(table.caption, parts)
    sweeps = sweeps_of(campaign, programs)
    yield from map(_sweep, sweeps.programs)
    yield replace(overview.environment_table(campaign.environment), is_folded=True)
    apart = measured.are_apart(programs)
    yield Heading("Programs")
    yield Sections(
        tuple(_program(row, sides, apart=apart) for row in programs), "programs", none="None."
    )


def _sweep(swept: SweptProgram) -> Section:
    title = f"{swept.table.caption}: {swept.summary}"
    return Section(title, (replace(swept.table, caption=""), items(swept.notes)))


def _program(row: ProgramRow, sides: tuple[Side, ...], *, apart: bool) -> Section:
    mark, tone = MARKS[row.verdict]
    return Section(
        title=row.name,
        state=f"{mark} {row.verdict}",
        tone=tone,
        parts=Later(lambda: _evidence(row, sides, apart=apart)),
    )


def _evidence(row: ProgramRow, sides: tuple[Side, ...], *, apart: bool) -> Iterator[Part]:
    """Yield the judgement of a program first, then what it rests on, folded."""
    by_side = {item.side: item for item in row.observations}
    seen = [by_side.get(side) for side in sides]
    facts = Line(row.source, "Source:"), Line(row.summary, "Summary:")
    yield Items((*facts, *(Line(reason, "Reason:") for reason in row.reasons)), "reasons")
    yield from failures(row)
    yield from with_rows(
        flip.reasons(row.flip),
        comparisons(row.comparisons),
        leaves(row.comparisons),
        flip.drift(row.drift),
        flip.times(row.times),
        hazards([each for each in row.hazards if not shown_by(row.flip, each)]),
    )
    evidence = with_rows(
        ledger(row, sides),
        program.proofs(row.observations, apart=apart),
        program.figures_by_side(sides, seen),
        program.outputs(sides, seen),
        program.operations(sides, seen),
    )
    yield from (replace(each, is_folded=True) for each in evidence)
