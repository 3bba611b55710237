"""The table of a campaign's programs: few columns, a reason in each row, and more on request."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from reports.document import NOTHING, Cell, Tone
from reports.rows import Observation, ProgramRow, Side, metrics
from reports.rows.metric_records import Metric, Picture
from reports.views import figures, flip
from reports.views.decision import gist, slug
from reports.views.flip import Flip
from reports.views.program import MARKS
from reports.views.scatter import pictured
from reports.views.texts import cut, visible

MAX_ROWS = 5_000
ROWS_AT_FIRST = 200  # more of them wait for a button: thousands take seconds to lay out
_NAME_LENGTH = 80
_REASON_LENGTH = 160
_PLACE_LENGTH = 120
_TITLE_LENGTH = 400

Sort = float | str  # what rows are sorted by in a column; "" stands last


@dataclass(frozen=True)
class Sorted:
    """A cell, and what it is sorted by."""

    cell: Cell
    sort: Sort = ""


@dataclass(frozen=True)
class Heading:
    """A column; `key` stands for it in the address of the page."""

    key: str
    title: str
    numeric: bool = False
    title_of_ratio: str = ""  # says in full what the figures are


@dataclass(frozen=True)
class Line:
    """One program: its cells, and the words that filters go by."""

    anchor: str
    name: str
    rank: int  # by the outcome, the worst first
    outcome: str
    group: str  # the outcome as a word of an address
    tone: Tone
    reason: str
    where: str
    details: str  # the whole reason, for the pointer
    figures: tuple[Sorted, ...]
    findings: tuple[str, ...]
    tags: tuple[str, ...]
    source: str


@dataclass(frozen=True)
class Choice:
    """One value of a filter, and how many programs have it."""

    value: str
    text: str
    count: int


@dataclass(frozen=True)
class ProgramsTable:
    """The table, its filters, and the columns that are added on request.

    `extra` has a tuple of text and sort key for each line and column of `extra_columns`.
    """

    columns: tuple[Heading, ...]
    lines: tuple[Line, ...]
    outcomes: tuple[Choice, ...]
    findings: tuple[Choice, ...]
    tags: tuple[Choice, ...]
    extra_columns: tuple[Heading, ...]
    extra: tuple[tuple[tuple[str, Sort], ...], ...]
    left_out: int

    @property
    def first(self) -> tuple[Line, ...]:
        """The rows that are shown at once."""
        return self.lines[:ROWS_AT_FIRST]

    @property
    def later(self) -> tuple[Line, ...]:
        """The rows that wait."""
        return self.lines[ROWS_AT_FIRST:]


def programs_table(
    programs: Sequence[ProgramRow],
    anchors: Sequence[str],
    sides: tuple[Side, ...],
    flip_sides: Flip | None,
) -> ProgramsTable:
    """Make the table of programs, which are sorted, the worst first."""
    shown = programs[:MAX_ROWS]
    ratios = pictured() if flip_sides else []
    lines = tuple(
        _line(row, anchor, ratios, flip_sides)
        for row, anchor in zip(shown, anchors[:MAX_ROWS], strict=True)
    )
    extra = _extra(sides)
    return ProgramsTable(
        columns=tuple(
            Heading(
                _key(metric), picture.column, True, f"{picture.title}, after to before the flip"
            )
            for metric, picture in ratios
        ),
        lines=lines,
        outcomes=_choices([(line.group, line.outcome) for line in lines], by_count=False),
        findings=_choices([(each, each) for line in lines for each in line.findings]),
        tags=_choices([(each, each) for line in lines for each in line.tags]),
        extra_columns=tuple(heading for heading, _ in extra),
        extra=tuple(tuple(read(row) for _, read in extra) for row in shown),
        left_out=len(programs) - len(shown),
    )


def _line(
    row: ProgramRow,
    anchor: str,
    ratios: Sequence[tuple[Metric, Picture]],
    sides: Flip | None,
) -> Line:
    outcome, tone = _outcome(row)
    reason, where, details = _reason(row)
    return Line(
        anchor=anchor,
        name=cut(row.name, _NAME_LENGTH),
        rank=_RANKS.index(outcome),
        outcome=outcome,
        group=slug(outcome),
        tone=tone,
        reason=reason,
        where=where,
        details=details,
        figures=tuple(_ratio(row, metric, sides) for metric, _ in ratios if sides),
        findings=_findings(row),
        tags=tuple(visible(tag) for tag in row.tags),
        source=cut(row.source, _PLACE_LENGTH),
    )


# The outcomes of a flip, then the verdicts of programs of which no flip was judged; worst first.
_RANKS = [
    *("different", "could not compare", "not repeatable", "agrees here, not proved"),
    "placed otherwise",
    *("numerics drift, explained", "safe but slower or larger", "safe"),
    *("difference", "parity"),
]


def _outcome(row: ProgramRow) -> tuple[str, Tone]:
    if row.flip is not None:
        return row.flip.outcome, flip.TONES[row.flip.outcome]
    return row.verdict, MARKS[row.verdict][1]


def _reason(row: ProgramRow) -> tuple[str, str, str]:
    """Return the first reason, the line that it is about, and all reasons for the pointer."""
    if row.flip is not None and row.flip.reasons:
        first = row.flip.reasons[0]
        every = cut("; ".join(reason.what for reason in row.flip.reasons), _TITLE_LENGTH)
        if first.outcome == "safe":  # notes on what costs nothing: their first words are enough
            notes = dict.fromkeys(reason.what.split(":")[0] for reason in row.flip.reasons)
            return cut(f"note: {', '.join(map(visible, notes))}", _REASON_LENGTH), "", every
        return (
            gist(first.what, _REASON_LENGTH),
            cut(first.where or row.source, _PLACE_LENGTH),
            every,
        )
    if row.reasons:
        return gist(row.reasons[0], _REASON_LENGTH), "", cut("; ".join(row.reasons), _TITLE_LENGTH)
    return "nothing that was measured is worse" if row.flip else "nothing differs", "", ""


def _findings(row: ProgramRow) -> tuple[str, ...]:
    reasons = row.flip.reasons if row.flip else ()
    found = [reason.subject if reason.kind == "hazard" else reason.kind for reason in reasons]
    found += [hazard.kind for hazard in row.hazards]
    return tuple(dict.fromkeys(each for each in found if each))


def _ratio(row: ProgramRow, metric: Metric, sides: Flip) -> Sorted:
    values = sides.values(row, metric)
    if values is None:
        return Sorted(NOTHING)
    before, after = values
    texts = [figures.cell(value, metric.unit).text for value in values]
    title = f"{texts[0]} before, {texts[1]} after"
    if not before:
        return Sorted(Cell("0" if not after else f"0 → {texts[1]}", title))
    judged = sides.judged_time(row, metric)
    ratio = judged.ratio if judged else after / before
    tone: Tone = "warn" if judged and judged.verdict == "slower" else ""
    return Sorted(Cell(figures.humanise_ratio(ratio), title, tone), float(f"{ratio:.6g}"))


def _choices(found: Sequence[tuple[str, str]], by_count: bool = True) -> tuple[Choice, ...]:
    counts: dict[tuple[str, str], int] = {}
    for each in found:
        counts[each] = counts.get(each, 0) + 1
    order = sorted(counts, key=lambda each: -counts[each]) if by_count else list(counts)
    return tuple(Choice(value, text, counts[value, text]) for value, text in order)


# -- columns on request ----------------------------------------------------------------------------

_Reader = Callable[[ProgramRow], tuple[str, Sort]]


def _extra(sides: tuple[Side, ...]) -> list[tuple[Heading, _Reader]]:
    """Return the columns that a reader may add: words of the program, and figures of each side."""
    found: list[tuple[Heading, _Reader]] = [
        (Heading("source", "source"), lambda row: _words(row.source)),
        (Heading("tags", "tags"), lambda row: _words(", ".join(row.tags))),
        (Heading("verdict-of-sides", "verdict of all sides"), lambda row: _words(row.verdict)),
    ]
    for metric in _offered():
        for side in sides:
            heading = Heading(f"{_key(metric)}.{side}", f"{metric.name}, {side}", True)
            found.append((heading, _reader(metric, side)))
    return found


def _offered() -> list[Metric]:
    """Return the metrics that stand in an overview, in a picture or in a terminal."""
    return [each for each in metrics.METRICS if each.overview or each.picture or each.terminal]


def _reader(metric: Metric, side: Side) -> _Reader:
    def read(row: ProgramRow) -> tuple[str, Sort]:
        seen: Observation | None = next((o for o in row.observations if o.side == side), None)
        if seen is not None and seen.failure is not None:
            return seen.failure.kind, ""
        value = metric.of(seen)
        return figures.cell(value, metric.unit).text, "" if value is None else value

    return read


def _words(text: str) -> tuple[str, Sort]:
    shown = visible(cut(text, _PLACE_LENGTH))
    return shown, shown.lower()


def _key(metric: Metric) -> str:
    return metric.name.replace(" ", "-").replace("'", "").lower()
