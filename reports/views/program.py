"""What was judged and measured of one program, as tables, and its failures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from reports.document import (
    NOTHING,
    Cell,
    Code,
    Column,
    Items,
    Line,
    Part,
    Section,
    Table,
    Tone,
    cells,
    columns,
)
from reports.rows import (
    Comparison,
    LeafComparison,
    Observation,
    OutputLeaf,
    ProgramRow,
    Side,
    StableHloCounts,
    Verdict,
    metrics,
)
from reports.rows.metric_records import Figure, Metric
from reports.views import figures, measured
from reports.views.texts import type_of

# The mark keeps the verdict readable without colour. The worst comes first.
MARKS: dict[Verdict, tuple[str, Tone]] = {
    "difference": ("≠", "bad"),
    "not repeatable": ("↻", "warn"),
    "could not compare": ("?", "warn"),
    "agrees here, not proved": ("≈", "warn"),
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
    """Make a line for each comparison, the worst first."""
    # Sorted by severity, so that a cut table never hides a difference behind equal figures.
    order = list(OUTCOMES)
    shown = sorted(found, key=lambda item: order.index(item.outcome))
    rows = [
        cells(
            item.metric,
            item.left,
            item.left_value,
            item.right,
            item.right_value,
            Cell(item.outcome, tone=OUTCOMES[item.outcome]),
            item.detail,
        )
        for item in shown
    ]
    titles = ("metric", "left side", "left value", "right side", "right value", "outcome", "detail")
    return Table(caption, columns(titles), tuple(rows), what="metrics")


def leaves(found: Sequence[Comparison]) -> Table:
    """Make a line for each output leaf that was compared, the worst first."""
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
    return cells(
        leaf.path or "(result)",
        f"{comparison.left} / {comparison.right}",
        Cell(leaf.rung, tone=_RUNGS[leaf.rung]),
        figures.float_cell(leaf.max_abs),
        figures.float_cell(leaf.max_rel),
        figures.count_cell(leaf.max_ulp) if leaf.max_ulp is not None else NOTHING,
        Cell(figures.humanise_share(leaf.mismatch_share), repr(leaf.mismatch_share)),
        Cell(figures.humanise_index(index)) if index is not None else Cell("none"),
        figures.float_cell(leaf.passing_rtol) if leaf.passing_rtol is not None else Cell("none"),
        leaf.note,
    )


# -- what was measured, by side --------------------------------------------------------------------

_PROOF = "proof"


def figures_by_side(sides: Sequence[Side], seen: Sequence[Observation | None]) -> Table:
    """Make a table of counts, memory and times: one line per metric, one column per side.

    A heading none of whose metrics was measured has one line for all of them.
    """
    rows: list[tuple[Cell, ...]] = []
    for heading, below in _by_heading().items():
        if heading == _PROOF:
            continue
        lines = [
            (_label(figure), *(figures.cell(metric.of(item), metric.unit) for item in seen))
            for metric, figure in below
        ]
        measured = any(cell != NOTHING for _, *line in lines for cell in line)
        rows += lines if measured else [(Cell(heading), *[NOTHING] * len(sides))]
    titles = (Column("figure"), *columns(sides, numeric=True))
    return Table("Figures by side", titles, tuple(rows))


def proofs(observations: Sequence[Observation], *, apart: bool = False) -> Table:
    """Make one line for each side: the evidence that it was in force, in words and counts.

    With `apart`, each line has the versions that the side was measured with.
    """
    counts = _by_heading()[_PROOF]
    labels = tuple(figure.label for _, figure in counts)
    words = ("side", "measured with", "proof") if apart else ("side", "proof")
    titles = (*columns(words), *columns(labels, numeric=True))
    rows = tuple(
        (
            Cell(item.side),
            *((_versions(item),) if apart else ()),
            _statement(item),
            *(figures.cell(metric.read(item), metric.unit) for metric, _ in counts),
        )
        for item in observations
    )
    return Table("Proof of the side in force", titles, rows)


def _by_heading() -> dict[str, list[tuple[Metric, Figure]]]:
    """Group the metrics that are shown by heading, in the order in which a page has them."""
    shown = [(metric, metric.figure) for metric in metrics.METRICS if metric.figure]
    headings = dict.fromkeys((*metrics.HEADINGS, *(figure.heading for _, figure in shown)))
    return {
        heading: sorted(
            (each for each in shown if each[1].heading == heading),
            key=lambda each: not each[1].early,
        )
        for heading in headings
    }


def _label(figure: Figure) -> Cell:
    return Cell(f"{figure.heading}: {figure.label}" if figure.label else figure.heading)


def _versions(observation: Observation) -> Cell:
    text = measured.versions_of(observation)
    return Cell(text) if text else Cell("-", "its process was lost")


def _statement(observation: Observation) -> Cell:
    proof, failure = observation.proof, observation.failure
    if proof is None and failure is None:
        return NOTHING
    if proof is None:
        assert failure is not None
        return Cell(f"failed: {failure.kind} at {failure.stage}", tone="bad")
    if not proof.holds:
        return Cell(f"contradicts the side: {proof.statement}", tone="bad")
    return Cell(proof.statement)


# -- what it returned, and what it was lowered to --------------------------------------------------


def outputs(sides: Sequence[Side], seen: Sequence[Observation | None]) -> Table:
    """Make a line for each output leaf and a column for each side: its type and its digest."""
    leaves = [{leaf.path: leaf for leaf in item.outputs} if item else {} for item in seen]
    paths = list(dict.fromkeys(path for by_path in leaves for path in by_path))
    rows: list[tuple[Cell, ...]] = []
    if any(item and item.tree is not None for item in seen):
        trees = (Cell(item.tree) if item and item.tree is not None else NOTHING for item in seen)
        rows.append((Cell("(tree)"), *trees))
    for path in paths:
        rows.append(cells(path or "(result)", *(_output(each.get(path)) for each in leaves)))
    return Table("Outputs", (Column("output"), *columns(sides)), tuple(rows), what="outputs")


def _output(leaf: OutputLeaf | None) -> Cell:
    if leaf is None:
        return NOTHING
    kind = f"{type_of(leaf)}{' weak' if leaf.weak_type else ''}"
    return Cell(f"{kind} {leaf.sha256[:12]}", f"sha256 {leaf.sha256}")


def operations(sides: Sequence[Side], seen: Sequence[Observation | None]) -> Table:
    """Make a line for each operation: how often each side has it, unequal counts first."""
    modules: list[StableHloCounts | None] = [item.stablehlo if item else None for item in seen]
    counts = [module.operations_by_name if module else None for module in modules]
    measured = [by_name for by_name in counts if by_name is not None]
    names = {name for by_name in measured for name in by_name}

    def rank(name: str) -> tuple[bool, int, str]:
        each = [by_name.get(name, 0) for by_name in measured]
        return (len(set(each)) == 1, -max(each), name)

    shown = sorted(names, key=rank)
    rows = [
        (
            Cell(name),
            *(figures.count_cell(c.get(name, 0)) if c is not None else NOTHING for c in counts),
        )
        for name in shown
    ]
    titles = (Column("operation"), *columns(sides, numeric=True))
    caption = "StableHLO operations, unequal counts first"
    return Table(caption, titles, tuple(rows), what="operations")
