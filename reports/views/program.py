"""What was judged of one program, as tables, and its failures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from reports.document import (
    NOTHING,
    Cell,
    Code,
    Items,
    Line,
    Part,
    Section,
    Table,
    Tone,
    columns,
)
from reports.rows import Comparison, LeafComparison, ProgramRow, Verdict
from reports.views import figures

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


def failures(row: ProgramRow) -> Iterator[Part]:
    """Yield each failed side of a program: how it failed, the message, and the traceback, folded.

    Example::

        next(failures(row)).lines[0].strong == "legacy: exception at trace: TypeError"
    """
    for seen in row.observations:
        if failure := seen.failure:
            headline = f"{seen.side}: {failure.kind} at {failure.stage}: {failure.type}"
            yield Items((Line("", headline),))
            if failure.message:
                yield Code(failure.message)
            if failure.traceback:
                yield Section("Traceback", (Code(failure.traceback),))


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
            Cell(item.metric),
            Cell(item.left),
            Cell(item.left_value),
            Cell(item.right),
            Cell(item.right_value),
            Cell(item.outcome, tone=OUTCOMES[item.outcome]),
            Cell(item.detail),
        )
        for item in shown
    ]
    titles = ("metric", "left side", "left value", "right side", "right value", "outcome", "detail")
    return Table(caption, columns(titles), tuple(rows), what="metrics")


def leaves(found: Sequence[Comparison]) -> Table:
    """Make a line for each output leaf that was compared, the worst first.

    Example::

        leaves(row.comparisons).rows[0][2].text == "mismatch"
    """
    order = list(_RUNGS)
    pairs = [(item, leaf) for item in found for leaf in item.leaves]
    shown = sorted(pairs, key=lambda pair: order.index(pair[1].rung))
    rows = [_leaf(item, leaf) for item, leaf in shown]
    words = ("output", "sides", "rung")
    numbers = (
        "max abs", "max rel", "max ulp", "mismatch share", "first index", "passing rtol"
    )  # fmt: skip
    titles = (*columns(words), *columns(numbers, numeric=True), *columns(("note",)))
    caption = "Numeric ladder, strictest rung passed"
    return Table(caption, titles, tuple(rows), what="output leaves")


def _leaf(comparison: Comparison, leaf: LeafComparison) -> tuple[Cell, ...]:
    index = leaf.first_index
    return (
        Cell(leaf.path or "(result)"),
        Cell(f"{comparison.left} / {comparison.right}"),
        Cell(leaf.rung, tone=_RUNGS[leaf.rung]),
        figures.float_cell(leaf.max_abs),
        figures.float_cell(leaf.max_rel),
        figures.count_cell(leaf.max_ulp) if leaf.max_ulp is not None else NOTHING,
        Cell(figures.humanise_share(leaf.mismatch_share), repr(leaf.mismatch_share)),
        Cell(figures.humanise_index(index)) if index is not None else Cell("none"),
        figures.float_cell(leaf.passing_rtol) if leaf.passing_rtol is not None else Cell("none"),
        Cell(leaf.note),
    )
