"""What a flip of the default means for a program, and the times that were judged, as tables."""

from __future__ import annotations

from collections.abc import Sequence

from reports.document import NOTHING, Cell, Column, Table, Tone, cells
from reports.rows import (
    FLIP_OUTCOMES,
    Campaign,
    DriftAttribution,
    DriftCause,
    FlipAnswer,
    FlipOutcome,
    FlipVerdict,
    TimeComparison,
    TimeVerdict,
)
from reports.views import figures
from reports.views.ledger import place

TONES: dict[FlipOutcome, Tone] = {
    "safe": "good",
    "safe but slower or larger": "warn",
    "numerics drift, explained": "note",
    "placed otherwise": "warn",
    "not repeatable": "warn",
    "could not compare": "warn",
    "different": "bad",
}
ANSWER_TONES: dict[FlipAnswer, Tone] = {
    "yes": "good",
    "yes, at a price": "note",
    "placed otherwise": "warn",
    "not known": "warn",
    "no": "bad",
}
CAUSE_TONES: dict[DriftCause, Tone] = {
    "constant folding": "note",
    "layout or fusion": "note",
    "another program": "bad",
    "a bug": "bad",
    "not attributed": "warn",
}
# In the order of the list: verdicts that a reader should see come first.
_TIMES: dict[TimeVerdict, Tone] = {
    "slower": "warn",
    "faster": "note",
    "inconclusive": "",
    "equivalent": "good",
    "not measured": "",
}


def outcome(flip: FlipVerdict | None) -> Cell:
    """Make a cell of the verdict."""
    if flip is None:
        return NOTHING
    return Cell(flip.outcome, tone=TONES[flip.outcome])


def totals(campaign: Campaign) -> str:
    """Count the programs with each verdict, in one line; "" where no flip was judged.

    Example::

        totals(campaign) == "After a flip: 7 safe; 1 different"
    """
    found = [row.flip.outcome for row in campaign.programs if row.flip]
    counts = [f"{found.count(each):,} {each}" for each in FLIP_OUTCOMES if each in found]
    return f"After a flip: {'; '.join(counts)}" if counts else ""


def reasons(flip: FlipVerdict | None) -> Table:
    """Make one line for each reason of the verdict, the worst first.

    Example::

        reasons(campaign.programs[0].flip).caption
        # "The flip from jax-legacy to jax-simplified: safe"
    """
    titles = ("what", "where", "what helps", "comes to")
    columns = tuple(map(Column, titles))
    if flip is None:
        return Table("The flip", columns, ())
    rows = tuple(
        cells(
            reason.what,
            reason.where or NOTHING,
            reason.action or NOTHING,
            Cell(reason.outcome, tone=TONES[reason.outcome]),
        )
        for reason in flip.reasons
    )
    caption = f"The flip from {flip.left} to {flip.right}: {flip.outcome}"
    return Table(caption, columns, rows, what="reasons")


def drift(found: Sequence[DriftAttribution]) -> Table:
    """Make one line for each pair of sides whose difference was attributed."""
    rows = tuple(
        cells(
            each.left,
            each.right,
            Cell(each.cause, tone=CAUSE_TONES[each.cause]),
            each.equation or NOTHING,
            Cell(place(each.file, each.line)) if each.file else NOTHING,
            each.evidence,
        )
        for each in found
    )
    titles = ("left side", "right side", "cause", "first that differs", "where", "evidence")
    return Table("Numeric drift", tuple(map(Column, titles)), rows, what="attributions")


def times(judged: Sequence[TimeComparison]) -> Table:
    """Make one line for each stage and pair of sides whose times were judged."""
    order = list(_TIMES)
    shown = sorted(judged, key=lambda each: order.index(each.verdict))
    rows = tuple(
        cells(
            each.metric,
            each.left,
            each.right,
            Cell(each.verdict, tone=_TIMES[each.verdict]),
            Cell(figures.humanise_ratio(each.ratio), repr(each.ratio)),
            _interval(each),
            figures.float_cell(each.p_value) if each.p_value is not None else NOTHING,
            f"{each.margin:.1%}",
            " / ".join(map(str, each.samples)),
        )
        for each in shown
    )
    words = ("metric", "left side", "right side", "verdict")
    numbers = ("right to left", "interval", "corrected p", "margin", "samples")
    columns = (*map(Column, words), *(Column(title, numeric=True) for title in numbers))
    return Table("Times, judged", columns, rows, what="times")


def _interval(each: TimeComparison) -> str:
    if each.low is None or each.high is None:
        return "none"
    return f"{figures.humanise_ratio(each.low)} to {figures.humanise_ratio(each.high)}"
