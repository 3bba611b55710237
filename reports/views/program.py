"""What was judged of one program, as tables, and its failures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from reports.document import NOTHING, Cell, Table, Tone, columns
from reports.rows import (
    Comparison,
    Failure,
    LeafComparison,
    Side,
    Verdict,
)
from reports.views import figures
from reports.views.texts import cut, cut_middle, left_out

# The mark keeps the verdict readable without colour. The worst comes first.
MARKS: dict[Verdict, tuple[str, Tone]] = {
    "difference": ("≠", "bad"),
    "not repeatable": ("↻", "warn"),
    "could not compare": ("?", "warn"),
    "parity": ("✓", "good"),
}
OUTCOMES: dict[str, Tone] = {
    "different": "bad",
    "not compared": "warn",
    "expected difference": "note",
    "not judged": "",
    "equal": "good",
}
_RUNGS: dict[str, Tone] = {
    "mismatch": "bad",
    "arbiter": "note",
    "tolerance": "note",
    "ulp": "note",
    "bitwise": "good",
}

_MAX_REASONS = 20
_MAX_ROWS = 40
_NAME_LENGTH = 200
_TEXT_LENGTH = 500
_VALUE_LENGTH = 120
_TRACEBACK_HEAD = 1_500
_TRACEBACK_TAIL = 4_500


@dataclass(frozen=True)
class FailureView:
    """One failed side: a headline, the message, and the traceback cut in its middle."""

    headline: str
    message: str
    traceback: str


def failure_view(side: Side, failure: Failure) -> FailureView:
    """Make the view of one failed side."""
    return FailureView(
        headline=cut(f"{side}: {failure.kind} at {failure.stage}: {failure.type}", _NAME_LENGTH),
        message=cut(failure.message, 4 * _TEXT_LENGTH),
        traceback=cut_middle(failure.traceback, _TRACEBACK_HEAD, _TRACEBACK_TAIL),
    )


def comparisons(found: Sequence[Comparison], caption: str = "Comparisons") -> Table:
    """Make a line for each comparison, the worst first.

    Example::

        comparisons(row.comparisons).rows[0][5].text == "different"
    """
    # Sorted by severity, so that a cut table never hides a difference behind equal figures.
    order = list(OUTCOMES)
    shown = sorted(found, key=lambda item: order.index(item.outcome))
    rows = [
        (
            Cell(cut(item.metric, _VALUE_LENGTH)),
            Cell(item.left),
            Cell(cut(item.left_value, _VALUE_LENGTH)),
            Cell(item.right),
            Cell(cut(item.right_value, _VALUE_LENGTH)),
            Cell(item.outcome, tone=OUTCOMES[item.outcome]),
            Cell(cut(item.detail, _TEXT_LENGTH)),
        )
        for item in shown[:_MAX_ROWS]
    ]
    titles = ("metric", "left side", "left value", "right side", "right value", "outcome", "detail")
    return Table(caption, columns(titles), tuple(rows), left_out(shown, rows, "metrics"))


def leaves(found: Sequence[Comparison]) -> Table:
    """Make a line for each output leaf that was compared, the worst first.

    Example::

        leaves(row.comparisons).rows[0][2].text == "mismatch"
    """
    order = list(_RUNGS)
    pairs = [(item, leaf) for item in found for leaf in item.leaves]
    shown = sorted(pairs, key=lambda pair: order.index(pair[1].rung))
    rows = [_leaf(item, leaf) for item, leaf in shown[:_MAX_ROWS]]
    words = ("output", "sides", "rung")
    numbers = (
        "max abs", "max rel", "max ulp", "mismatch share", "first index", "passing rtol"
    )  # fmt: skip
    titles = (*columns(words), *columns(numbers, numeric=True), *columns(("note",)))
    notice = left_out(shown, rows, "output leaves")
    return Table("Numeric ladder, strictest rung passed", titles, tuple(rows), notice)


def _leaf(comparison: Comparison, leaf: LeafComparison) -> tuple[Cell, ...]:
    index = leaf.first_index
    return (
        Cell(cut(leaf.path, _VALUE_LENGTH) or "(result)"),
        Cell(f"{comparison.left} / {comparison.right}"),
        Cell(leaf.rung, tone=_RUNGS[leaf.rung]),
        figures.float_cell(leaf.max_abs),
        figures.float_cell(leaf.max_rel),
        figures.count_cell(leaf.max_ulp) if leaf.max_ulp is not None else NOTHING,
        Cell(figures.humanise_share(leaf.mismatch_share), repr(leaf.mismatch_share)),
        Cell(figures.humanise_index(index)) if index is not None else Cell("none"),
        figures.float_cell(leaf.passing_rtol) if leaf.passing_rtol is not None else Cell("none"),
        Cell(cut(leaf.note, _TEXT_LENGTH)),
    )
