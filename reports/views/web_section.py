"""One program as a section of the HTML page: why it breaks, what helps, and the evidence."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from reports.document import (
    Cell,
    Column,
    Heading,
    Part,
    Section,
    Table,
    Tone,
    cells,
    columns,
    items,
    with_rows,
)
from reports.rows import SIDES, Comparison, FlipReason, FlipVerdict, ProgramRow, Side
from reports.rows.observation import KeptText
from reports.views import flip, program
from reports.views.differences import PrintedProgram, TextDifference, difference
from reports.views.flip import Flip
from reports.views.ledger import hazards, ledger, shown_by
from reports.views.program import (
    MARKS,
    OUTCOMES,
    comparisons,
    failures,
    leaves,
)
from reports.views.texts import Term, cut, more, terms_of

_MAX_REASONS = 20
_NAME_LENGTH = 200
_TEXT_LENGTH = 1_000
_COUNT_LENGTH = 120
# What says something of the two sides by itself; the rest agrees, or is nobody's to judge.
_TELLING = ("different", "not compared", "expected difference")


@dataclass(frozen=True)
class Reason:
    """One reason of the verdict: what was seen, where, and what helps."""

    what: str
    where: str
    code: str  # the line itself, where a hazard is the reason
    action: str
    outcome: str
    tone: Tone


@dataclass(frozen=True)
class WebSection:
    """One program: the reasons first, then the evidence that they rest on."""

    anchor: str
    name: str
    outcome: str
    tone: Tone
    verdict: str  # of all sides
    verdict_tone: Tone
    source: str
    summary: str
    tags: tuple[str, ...]
    reasons: tuple[Reason, ...]
    more_reasons: str
    terms: tuple[Term, ...]  # words of the reasons, with their meanings
    has_failed: bool
    evidence: tuple[Part, ...]  # other differences in words, failures, captured arrays
    programs: tuple[TextDifference, ...]
    tables: tuple[Part, ...]  # what differs; folded, what agrees and what few readers need
    command: str


def web_section(
    row: ProgramRow,
    sides: tuple[Side, ...],
    flip_sides: Flip | None,
    anchor: str,
    *,
    apart: bool = False,
) -> WebSection:
    """Make the section of one program.

    `apart` says that sides or programs of its campaign were measured with other versions.
    """
    mark, verdict_tone = MARKS[row.verdict]
    by_side = {item.side: item for item in row.observations}
    seen = [by_side.get(side) for side in sides]
    across = flip_sides.comparisons(row) if flip_sides else ()
    of_the_flip = {id(each) for each in across}
    between = [each for each in row.comparisons if id(each) not in of_the_flip]
    return WebSection(
        anchor=anchor,
        name=cut(row.name, _NAME_LENGTH),
        outcome=row.flip.outcome if row.flip else row.verdict,
        tone=flip.TONES[row.flip.outcome] if row.flip else verdict_tone,
        verdict=f"{mark} {row.verdict}",
        verdict_tone=verdict_tone,
        source=cut(row.source, _NAME_LENGTH),
        summary=cut(row.summary, _TEXT_LENGTH),
        tags=row.tags,
        reasons=_reasons(row),
        more_reasons=_more_reasons(row.flip),
        terms=terms_of(_texts(row)),
        has_failed=any(item.failure for item in row.observations),
        evidence=(
            *_others(row),
            *failures(row),
            *_headed("Captured arrays", [ledger(row, sides)]),
        ),
        programs=_programs(row, flip_sides),
        tables=(
            *_headed("What differs", _what_differs(row, across, between)),
            *(
                replace(each, is_folded=True)
                for each in with_rows(
                    _metrics(
                        [each for each in across if each.outcome not in _TELLING], _WHAT_AGREES
                    ),
                    program.figures_by_side(sides, seen),
                    program.proofs(row.observations, apart=apart),
                    comparisons(
                        [each for each in between if each.outcome == "not compared"],
                        "Other sides that were not compared",
                    ),
                    program.outputs(sides, seen),
                    program.operations(sides, seen),
                )
            ),
        ),
        command=_command(row, sides),
    )


def _headed(heading: str, tables: Sequence[Table]) -> tuple[Part, ...]:
    found = with_rows(*tables)
    return (Heading(heading), *found) if found else ()


def _what_differs(
    row: ProgramRow, across: Sequence[Comparison], between: Sequence[Comparison]
) -> tuple[Table, ...]:
    """Make the tables of what is not equal; `across` the flip, and `between` other sides."""
    return (
        _metrics([each for each in across if each.outcome in _TELLING], _WHAT_DIFFERS),
        leaves([each for each in row.comparisons if _is_apart(each)]),
        flip.drift(row.drift),
        flip.times(row.times),
        hazards([each for each in row.hazards if not shown_by(row.flip, each)]),
        comparisons(
            [each for each in between if each.outcome == "different"], "Other sides that differ"
        ),
    )


_WHAT_DIFFERS = "Metrics that differ across the flip"
_WHAT_AGREES = "Metrics that agree across the flip, or are not judged"


def _reasons(row: ProgramRow) -> tuple[Reason, ...]:
    codes = {
        reason: hazard.code
        for hazard in reversed(row.hazards)
        for reason in shown_by(row.flip, hazard)
    }
    return tuple(
        Reason(
            what=cut(reason.what, _TEXT_LENGTH),
            where=cut(reason.where, _TEXT_LENGTH),
            code=cut(codes.get(reason, ""), _TEXT_LENGTH),
            action=cut(reason.action, _TEXT_LENGTH),
            outcome=reason.outcome,
            tone=flip.TONES[reason.outcome],
        )
        for reason in _shown(row.flip)
    )


def _shown(found: FlipVerdict | None) -> Sequence[FlipReason]:
    return found.reasons[:_MAX_REASONS] if found else ()


def _more_reasons(found: FlipVerdict | None) -> str:
    count = len(found.reasons) - _MAX_REASONS if found else 0
    return more(count, "reasons") if count > 0 else ""


def _texts(row: ProgramRow) -> Iterator[str]:
    """Yield the texts of a section that may name distances."""
    yield from row.reasons
    yield from (reason.what for reason in (row.flip.reasons if row.flip else ()))
    yield from (each.detail for each in row.comparisons)
    yield from (f"{leaf.rung} at " for each in row.comparisons for leaf in each.leaves)


def _others(row: ProgramRow) -> Iterator[Part]:
    """Yield what the sides were found to differ in, open where a flip has no reasons."""
    if row.reasons:
        title = f"What the sides differ in, in words ({len(row.reasons)})"
        has_reasons = bool(row.flip and row.flip.reasons)
        yield Section(title, (items(row.reasons, "reasons"),), is_open=not has_reasons)


def _is_apart(comparison: Comparison) -> bool:
    """Say whether some output is not equal bit by bit."""
    return any(leaf.rung != "bitwise" for leaf in comparison.leaves)


def _programs(row: ProgramRow, sides: Flip | None) -> tuple[TextDifference, ...]:
    """Put the jaxprs and the StableHLO modules of the two sides side by side."""
    by_side = {item.side: item.texts for item in row.observations}
    if sides is None or not (by_side.get(sides.before) or by_side.get(sides.after)):
        return ()
    before, after = by_side.get(sides.before), by_side.get(sides.after)
    return (
        difference(
            "Jaxprs",
            _printed(sides.before, before.jaxpr if before else None),
            _printed(sides.after, after.jaxpr if after else None),
            is_jaxpr=True,
        ),
        difference(
            "StableHLO modules",
            _printed(sides.before, before.stablehlo if before else None),
            _printed(sides.after, after.stablehlo if after else None),
            is_jaxpr=False,
        ),
    )


def _printed(side: Side, kept: KeptText | None) -> PrintedProgram:
    if kept is None:
        return PrintedProgram(side, "", "no text, for the side failed before")
    try:
        text = kept.text
    except ValueError as damaged:
        return PrintedProgram(side, "", str(damaged))
    lost = f"{kept.cut:,} more lines were cut when it was measured" if kept.cut else ""
    return PrintedProgram(side, text, lost)


def _metrics(found: Sequence[Comparison], caption: str) -> Table:
    """Make a line for each metric of the two sides of a flip, the worst first."""
    order = list(OUTCOMES)
    ordered = sorted(found, key=lambda each: order.index(each.outcome))
    rows = [
        cells(
            each.metric,
            _value(each.left_value),
            _value(each.right_value),
            Cell(each.outcome, tone=OUTCOMES[each.outcome]),
            each.detail,
        )
        for each in ordered
    ]
    before, after = (found[0].left, found[0].right) if found else ("before", "after")
    titles = (Column("metric"), *columns((before, after)), Column("outcome"), Column("why"))
    return Table(caption, titles, tuple(rows), what="metrics")


def _value(text: str) -> str:
    is_count = text.isascii() and text.isdigit() and len(text) < _COUNT_LENGTH
    return f"{int(text):,}" if is_count else text


def _command(row: ProgramRow, sides: tuple[Side, ...]) -> str:
    """Return the command that runs the program again; "" where the report has no target."""
    if not row.target:
        return ""
    chosen = [] if set(sides) == set(SIDES) else ["--sides", ",".join(sides)]
    return shlex.join(["constparity", "run", row.target, *chosen])
