"""One program of a campaign as a section of the page."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from reports.rows import (
    TIME_METRICS,
    Comparison,
    Failure,
    LeafComparison,
    Observation,
    OutputLeaf,
    ProgramRow,
    Side,
    StableHloCounts,
    Verdict,
)
from reports.views import figures, flip
from reports.views.cells import NOTHING, Cell, Column, Table, Tone
from reports.views.ledger import hazards, ledger
from reports.views.texts import cut, cut_middle

# The mark keeps the verdict readable without colour. The worst comes first.
VERDICTS: dict[Verdict, tuple[str, Tone]] = {
    "difference": ("≠", "bad"),
    "could not compare": ("?", "warn"),
    "parity": ("✓", "good"),
}
_OUTCOMES: dict[str, Tone] = {
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
_MAX_OPERATIONS = 15
_NAME_LENGTH = 200
_TEXT_LENGTH = 500
_VALUE_LENGTH = 120
_TRACEBACK_HEAD = 1_500
_TRACEBACK_TAIL = 4_500

T = TypeVar("T")


@dataclass(frozen=True)
class FailureView:
    """One failed side: a headline, the message, and the traceback cut in its middle."""

    headline: str
    message: str
    traceback: str


@dataclass(frozen=True)
class Section:
    """One program: the judgement first, then the evidence it rests on."""

    anchor: str
    name: str
    verdict: str
    tone: Tone
    source: str
    summary: str
    reasons: tuple[str, ...]
    failures: tuple[FailureView, ...]
    judgement: tuple[Table, ...]
    evidence: tuple[Table, ...]
    folded: tuple[Table, ...]  # long tables that few readers need

    @property
    def open(self) -> bool:
        """Whether a reader should see it at once."""
        return self.tone != "good"


def section(row: ProgramRow, sides: tuple[Side, ...], anchor: str) -> Section:
    """The section of one program, with a column for each of `sides`.

    Example:
        `section(campaign.programs[0], ("legacy", "simplified"), "program-1").verdict` is, say,
        `✓ parity`.
    """
    mark, tone = VERDICTS[row.verdict]
    reasons = [cut(reason, _TEXT_LENGTH) for reason in row.reasons[:_MAX_REASONS]]
    if len(row.reasons) > _MAX_REASONS:
        reasons.append(_notice(len(row.reasons) - _MAX_REASONS, "reasons"))
    by_side = {item.side: item for item in row.observations}
    seen = [by_side.get(side) for side in sides]
    return Section(
        anchor=anchor,
        name=cut(row.name, _NAME_LENGTH),
        verdict=f"{mark} {row.verdict}",
        tone=tone,
        source=cut(row.source, _NAME_LENGTH),
        summary=cut(row.summary, _TEXT_LENGTH),
        reasons=tuple(reasons),
        failures=tuple(
            _failure(item.side, item.failure) for item in row.observations if item.failure
        ),
        judgement=_with_rows(
            flip.reasons(row.flip),
            _comparisons(row.comparisons),
            _leaves(row.comparisons),
            flip.drift(row.drift),
            flip.times(row.times),
            hazards(row.hazards),
        ),
        evidence=_with_rows(
            ledger(row, sides), _proofs(row.observations), _measurements(sides, seen)
        ),
        folded=_with_rows(_outputs(sides, seen), _operations(sides, seen)),
    )


def _failure(side: Side, failure: Failure) -> FailureView:
    return FailureView(
        headline=cut(f"{side}: {failure.kind} at {failure.stage}: {failure.type}", _NAME_LENGTH),
        message=cut(failure.message, 4 * _TEXT_LENGTH),
        traceback=cut_middle(failure.traceback, _TRACEBACK_HEAD, _TRACEBACK_TAIL),
    )


def _comparisons(comparisons: Sequence[Comparison]) -> Table:
    # Sorted by severity, so that a cut table never hides a difference behind equal figures.
    order = list(_OUTCOMES)
    shown = sorted(comparisons, key=lambda item: order.index(item.outcome))
    rows = [
        (
            Cell(cut(item.metric, _VALUE_LENGTH)),
            Cell(item.left),
            Cell(cut(item.left_value, _VALUE_LENGTH)),
            Cell(item.right),
            Cell(cut(item.right_value, _VALUE_LENGTH)),
            Cell(item.outcome, tone=_OUTCOMES[item.outcome]),
            Cell(cut(item.detail, _TEXT_LENGTH)),
        )
        for item in shown[:_MAX_ROWS]
    ]
    titles = ("metric", "left side", "left value", "right side", "right value", "outcome", "detail")
    return Table("Comparisons", _columns(titles), tuple(rows), _left_out(shown, rows, "metrics"))


def _leaves(comparisons: Sequence[Comparison]) -> Table:
    order = list(_RUNGS)
    pairs = [(item, leaf) for item in comparisons for leaf in item.leaves]
    shown = sorted(pairs, key=lambda pair: order.index(pair[1].rung))
    rows = [_leaf(item, leaf) for item, leaf in shown[:_MAX_ROWS]]
    words = ("output", "sides", "rung")
    numbers = (
        "max abs", "max rel", "max ulp", "mismatch share", "first index", "passing rtol"
    )  # fmt: skip
    columns = (*_columns(words), *_columns(numbers, numeric=True), *_columns(("note",)))
    notice = _left_out(shown, rows, "output leaves")
    return Table("Numeric ladder, strictest rung passed", columns, tuple(rows), notice)


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


def _proofs(observations: Sequence[Observation]) -> Table:
    numbers = (
        "array literals", "constvars", "const args", "unique captured", "inlined constants"
    )  # fmt: skip
    columns = (*_columns(("side", "proof")), *_columns(numbers, numeric=True))
    rows = tuple(_proof(item) for item in observations)
    return Table("Proof of the side in force", columns, rows)


def _proof(observation: Observation) -> tuple[Cell, ...]:
    proof, failure = observation.proof, observation.failure
    if proof is None:
        statement = NOTHING
        if failure is not None:
            statement = Cell(f"failed: {failure.kind} at {cut(failure.stage, 40)}", tone="bad")
        return (Cell(observation.side), statement, *[NOTHING] * 5)
    statement = Cell(cut(proof.statement, _TEXT_LENGTH))
    if not proof.holds:
        statement = Cell(f"contradicts the side: {statement.text}", tone="bad")
    return (
        Cell(observation.side),
        statement,
        figures.count_cell(proof.array_literals),
        figures.count_cell(proof.constvars),
        figures.count_cell(proof.const_args),
        figures.count_cell(proof.unique_captured),
        figures.bytes_cell(proof.inlined_constant_bytes),
    )


def _measurements(sides: Sequence[Side], seen: Sequence[Observation | None]) -> Table:
    """Counts, memory and times: one line per figure, one column per side."""
    rows: list[tuple[Cell, ...]] = []

    def add(heading: str, part: str, figures_of: dict[str, Callable[[int], Cell]]) -> None:
        records = [getattr(item, part) if item else None for item in seen]
        if all(record is None for record in records):
            rows.append((Cell(heading), *[NOTHING] * len(sides)))
            return
        for name, cell in figures_of.items():
            label = f"{heading}: {name.replace('_', ' ')}"
            values = (getattr(record, name) if record else None for record in records)
            rows.append((Cell(label), *(NOTHING if v is None else cell(v) for v in values)))

    def add_one(label: str, name: str, cell: Callable[[int], Cell]) -> None:
        values = (getattr(item, name) if item else None for item in seen)
        rows.append((Cell(label), *(NOTHING if v is None else cell(v) for v in values)))

    count, size, time = figures.count_cell, figures.bytes_cell, figures.seconds_cell
    add("jaxpr", "jaxpr", {"equations": count, "captured_arrays": count, "captured_bytes": size})
    add(
        "StableHLO",
        "stablehlo",
        {
            "text_bytes": size,
            "bytecode_bytes": size,
            "operations": count,
            "functions": count,
            "constants": count,
            "constant_bytes": size,
        },
    )
    add(
        "executable",
        "executable",
        {
            "instructions": count,
            "fusions": count,
            "constants": count,
            "constant_bytes": size,
            "serialized_bytes": size,
        },
    )
    add_one("device buffers of constants", "constant_buffers", size)
    add_one("recompiles for other values", "recompiles", count)
    memory = ("arguments", "outputs", "temporaries", "aliased", "generated_code")
    add("memory", "memory", dict.fromkeys(memory, size))
    add("peak host memory", "host_memory", dict.fromkeys(("trace_and_lower", "compile"), size))
    stages = tuple(metric.replace(" ", "_") for metric in TIME_METRICS)
    add("time", "times", {**dict.fromkeys(stages, time), "call_samples": count})
    columns = (Column("figure"), *_columns(sides, numeric=True))
    return Table("Figures by side", columns, tuple(rows))


def _outputs(sides: Sequence[Side], seen: Sequence[Observation | None]) -> Table:
    leaves = [{leaf.path: leaf for leaf in item.outputs} if item else {} for item in seen]
    paths = list(dict.fromkeys(path for by_path in leaves for path in by_path))
    rows: list[tuple[Cell, ...]] = []
    if any(item and item.tree is not None for item in seen):
        trees = (
            Cell(cut(item.tree, _VALUE_LENGTH)) if item and item.tree is not None else NOTHING
            for item in seen
        )
        rows.append((Cell("(tree)"), *trees))
    for path in paths[:_MAX_ROWS]:
        cells = (_output(by_path.get(path)) for by_path in leaves)
        rows.append((Cell(cut(path, _VALUE_LENGTH) or "(result)"), *cells))
    notice = _notice(len(paths) - _MAX_ROWS, "outputs") if len(paths) > _MAX_ROWS else ""
    return Table("Outputs", (Column("output"), *_columns(sides)), tuple(rows), notice)


def _output(leaf: OutputLeaf | None) -> Cell:
    if leaf is None:
        return NOTHING
    kind = f"{leaf.dtype}[{','.join(map(str, leaf.shape))}]{' weak' if leaf.weak_type else ''}"
    return Cell(cut(f"{kind} {leaf.sha256[:12]}", _VALUE_LENGTH), cut(f"sha256 {leaf.sha256}", 80))


def _operations(sides: Sequence[Side], seen: Sequence[Observation | None]) -> Table:
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
            Cell(cut(name, _VALUE_LENGTH)),
            *(figures.count_cell(c.get(name, 0)) if c is not None else NOTHING for c in counts),
        )
        for name in shown[:_MAX_OPERATIONS]
    ]
    columns = (Column("operation"), *_columns(sides, numeric=True))
    caption = "StableHLO operations, unequal counts first"
    return Table(caption, columns, tuple(rows), _left_out(shown, rows, "operations"))


def _columns(titles: Sequence[str], numeric: bool = False) -> tuple[Column, ...]:
    return tuple(Column(title, numeric=numeric) for title in titles)


def _with_rows(*tables: Table) -> tuple[Table, ...]:
    return tuple(table for table in tables if table.rows)


def _left_out(found: Sequence[T], shown: Sequence[object], what: str) -> str:
    return _notice(len(found) - len(shown), what) if len(found) > len(shown) else ""


def _notice(count: int, what: str) -> str:
    return f"{count:,} more {what} are left out here; the JSON report has them."
