"""What was measured of a program, as tables: the metrics by side, and the proof of each side."""

from __future__ import annotations

from collections.abc import Sequence

from reports.document import NOTHING, Cell, Column, Table, columns
from reports.rows import Observation, Side, metrics
from reports.rows.metric_records import Figure, Metric
from reports.views import figures, measured

_PROOF = "proof"


def figures_by_side(sides: Sequence[Side], seen: Sequence[Observation | None]) -> Table:
    """Make a table of counts, memory and times: one line per metric, one column per side.

    A heading none of whose metrics was measured has one line for all of them.

    Example::

        figures_by_side(("legacy",), observations).rows[0][0].text == "jaxpr: equations"
    """
    rows: list[tuple[Cell, ...]] = []
    for heading, below in _by_heading().items():
        if heading == _PROOF:
            continue
        lines = [
            (_label(figure), *(figures.cell(_read(metric, item), metric.unit) for item in seen))
            for metric, figure in below
        ]
        measured = any(cell != NOTHING for _, *line in lines for cell in line)
        rows += lines if measured else [(Cell(heading), *[NOTHING] * len(sides))]
    titles = (Column("figure"), *columns(sides, numeric=True))
    return Table("Figures by side", titles, tuple(rows))


def proofs(observations: Sequence[Observation], *, apart: bool = False) -> Table:
    """Make one line for each side: the evidence that it was in force, in words and counts.

    With `apart`, each line has the versions that the side was measured with.

    Example::

        proofs(row.observations).rows[0][0].text == "legacy"
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


def _read(metric: Metric, observation: Observation | None) -> object:
    return metric.read(observation) if observation else None


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
