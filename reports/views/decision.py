"""The first screen of the page: may the default be flipped, what breaks, what it costs, what to do.

A person decides from these texts alone; everything below them is evidence.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from reports.document import Tone
from reports.rows import (
    FLIP_OUTCOMES,
    Campaign,
    FlipOutcome,
    FlipReason,
    Hazard,
    ProgramRow,
    answer_of,
)
from reports.rows.metric_records import Metric
from reports.views import figures, flip
from reports.views.causes import Cause, listed, standings
from reports.views.flip import Flip
from reports.views.ledger import said_by
from reports.views.scatter import NOTICEABLE, Scatter
from reports.views.texts import counted, cut, visible

MAX_LISTED = 12
MAX_STEPS = 6
_NAME_LENGTH = 80
_GIST_LENGTH = 170
_ACTION_LENGTH = 300
_WHERE_LENGTH = 200
_NAMED = 3


@dataclass(frozen=True)
class Share:
    """The programs with one outcome; `filter` is the address of the table that has them alone."""

    outcome: str
    count: int
    tone: Tone
    filter: str


@dataclass(frozen=True)
class Broken:
    """One program that a flip breaks, changes or costs something, and the first reason.

    `where` is the line of the reason, else the line where the program is declared; "" where the
    reason names it already.
    """

    name: str
    anchor: str
    outcome: str
    tone: Tone
    reason: str
    where: str


@dataclass(frozen=True)
class Step:
    """One thing to do, for all programs that it helps."""

    action: str
    where: str
    helps: str  # "12 programs"
    programs: tuple[tuple[str, str], ...]  # names and anchors of the first few
    more: str  # "and 9 more"; "" where all are named
    tone: Tone


@dataclass(frozen=True)
class Total:
    """What all programs come to in one metric; lengths are shares of the longer bar."""

    title: str
    before: str
    after: str
    ratio: str
    tone: Tone
    programs: str
    before_length: float
    after_length: float


@dataclass(frozen=True)
class Decision:
    """The first screen."""

    answer: str  # "" where nobody asked
    tone: Tone
    sentence: str
    shares: tuple[Share, ...]
    breaks: str  # "Nothing breaks. 3 programs pay a price."
    broken: tuple[Broken, ...]
    more_broken: int
    steps: tuple[Step, ...]
    more_steps: int
    totals: tuple[Total, ...]


def gist(text: str, length: int = _GIST_LENGTH) -> str:
    """Return the first statements of a reason, as many as fit; the program's section has them all.

    Example::

        >>> gist("outputs differ: max abs 3.5; the first at [0]: 1 and 2", 30)
        'outputs differ: max abs 3.5'
    """
    statements = visible(text).split("; ")
    shown = statements[0]
    for statement in statements[1:]:
        if len(shown) + len(statement) + 2 > length:
            break
        shown = f"{shown}; {statement}"
    return shown if len(shown) <= length else f"{shown[: length - 1].rstrip()}…"


def decision(
    campaign: Campaign,
    programs: Sequence[ProgramRow],
    anchors: Sequence[str],
    sides: Flip | None,
    pictures: Sequence[Scatter],
) -> Decision:
    """Make the first screen; `programs` are sorted, the worst first."""
    headline = campaign.headline
    worse = [
        (row, anchor)
        for row, anchor in zip(programs, anchors, strict=True)
        if row.flip is not None and row.flip.outcome != "safe" and not row.is_proof_alone
    ]
    proved = sum(row.is_proof_alone for row in programs)
    names = [row.name for row in programs]
    steps = _steps(campaign, dict(reversed([*zip(names, anchors, strict=True)])))
    answer = headline.flip or ""
    return Decision(
        answer=answer,
        tone=flip.ANSWER_TONES[headline.flip] if headline.flip else "",
        sentence=headline.answer.removeprefix(f"flip: {answer}. ").removesuffix("."),
        shares=_shares(programs),
        breaks=_breaks(worse, proved),
        broken=tuple(_broken(row, anchor) for row, anchor in worse[:MAX_LISTED]),
        more_broken=max(len(worse) - MAX_LISTED, 0),
        steps=steps[:MAX_STEPS],
        more_steps=max(len(steps) - MAX_STEPS, 0),
        totals=tuple(_total(each, programs, sides) for each in pictures) if sides else (),
    )


def _breaks(worse: Sequence[tuple[ProgramRow, str]], proved: int) -> str:
    """Say in one line how many programs break, and how many others are not simply safe."""
    answers = Counter(answer_of(row.flip) for row, _ in worse)
    no, unknown, price = answers["no"], answers["not known"], answers["yes, at a price"]
    placed = answers["placed otherwise"]
    said = [f"{counted(no, 'program')} break{_s(no)} or change{_s(no)}" if no else "Nothing breaks"]
    if unknown:
        said.append(f"nothing is known of {unknown:,}")
    if proved:
        said.append(f"{proved:,} {'is' if proved == 1 else 'are'} proved and not run")
    if placed:
        said.append(f"{placed:,} {'is' if placed == 1 else 'are'} placed otherwise")
    if price:
        said.append(f"{price:,} cost{_s(price)} something")
    return f"{'; '.join(said)}."


def _s(count: int) -> str:
    return "s" if count == 1 else ""


def _shares(programs: Sequence[ProgramRow]) -> tuple[Share, ...]:
    found = Counter(row.flip.outcome for row in programs if row.flip)
    return tuple(
        Share(outcome, found[outcome], flip.TONES[outcome], f"verdict={slug(outcome)}")
        for outcome in reversed(FLIP_OUTCOMES)
        if found[outcome]
    )


def slug(outcome: str) -> str:
    """Return a word for an outcome that an address can hold.

    Example::

        >>> slug("numerics drift, explained")
        'numerics-drift-explained'
    """
    return outcome.replace(",", "").replace(" ", "-")


def _broken(row: ProgramRow, anchor: str) -> Broken:
    assert row.flip is not None
    outcome: FlipOutcome = row.flip.outcome
    first = row.flip.reasons[0] if row.flip.reasons else None
    cause = _cause(first, row.hazards) if first else ""
    where = (first.where if first else "") or row.source
    return Broken(
        name=cut(row.name, _NAME_LENGTH),
        anchor=anchor,
        outcome=outcome,
        tone=flip.TONES[outcome],
        reason=_reason(first, cause) if first else outcome,
        where="" if cause else cut(where, _WHERE_LENGTH),
    )


def _cause(reason: FlipReason, hazards: Sequence[Hazard]) -> str:
    """Return what a hazard says at the end of a reason; "" where none does."""
    found = (each.what for each in hazards if said_by(reason, each))
    return next((each for each in found if reason.what.endswith(f"; {each}")), "")


def _reason(reason: FlipReason, cause: str) -> str:
    """Return the first statements of a reason, and its cause."""
    if not cause:
        return gist(reason.what)
    return (
        f"{gist(reason.what.removesuffix(f'; {cause}'))}; {cut(visible(cause), 2 * _GIST_LENGTH)}"
    )


def _steps(campaign: Campaign, anchors: dict[str, str]) -> tuple[Step, ...]:
    """Make a step for each cause, the worst first, and those first that help most programs."""
    return tuple(
        _step(cause, standing.tone, anchors)
        for standing in standings(campaign)
        for cause in standing.causes
    )


def _step(cause: Cause, tone: Tone, anchors: dict[str, str]) -> Step:
    symptoms = listed(cause.symptoms, _NAMED, "symptoms")
    return Step(
        action=cut(cause.action or f"find out why: {symptoms}", _ACTION_LENGTH),
        where=cut(listed(cause.places, _NAMED, "lines"), _WHERE_LENGTH) if cause.places else "",
        helps=counted(len(cause.members), "program"),
        programs=tuple(
            (cut(each.name, _NAME_LENGTH), anchors[each.name]) for each in cause.members[:_NAMED]
        ),
        more=f"and {more:,} more" if (more := len(cause.members) - _NAMED) > 0 else "",
        tone=tone,
    )


def _total(picture: Scatter, programs: Sequence[ProgramRow], sides: Flip) -> Total:
    before = sum(point.before for point in picture.points)
    after = sum(point.after for point in picture.points)
    unit, longest = picture.unit, max(before, after) or 1
    texts = [figures.cell(round(v) if unit == "bytes" else v, unit).text for v in (before, after)]
    verdicts = _judged(picture.metric, programs, sides)
    return Total(
        title=picture.title,
        before=texts[0],
        after=texts[1],
        ratio=figures.humanise_ratio(after / before) if before else "-",
        tone="" if picture.doubt else _tone(before, after),
        programs=_by_program(picture, verdicts),
        before_length=before / longest,
        after_length=after / longest,
    )


def _tone(before: float, after: float) -> Tone:
    if after > before * NOTICEABLE:
        return "warn"
    return "good" if after * NOTICEABLE < before else ""


def _judged(metric: Metric, programs: Sequence[ProgramRow], sides: Flip) -> Counter[str]:
    """Count the verdicts on a time."""
    found = (sides.judged_time(row, metric) for row in programs if metric.stage)
    return Counter(judged.verdict for judged in found if judged)


def _by_program(picture: Scatter, verdicts: Counter[str]) -> str:
    """Count the programs that are better and worse; no counts of what nobody judged."""
    if verdicts:
        return ", ".join(f"{count:,} {verdict}" for verdict, count in verdicts.most_common())
    if picture.doubt:
        return f"{picture.doubt}; median ratio {picture.median}"
    less, more, equal = (picture.count(change) for change in (-1, 1, 0))
    return f"{less:,} take less, {more:,} more, {equal:,} about the same"
