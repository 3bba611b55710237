"""What a program returned and what it was lowered to, as tables: its outputs, its operations."""

from __future__ import annotations

from collections.abc import Sequence

from reports.document import NOTHING, Cell, Column, Table, columns
from reports.rows import Observation, OutputLeaf, Side, StableHloCounts
from reports.views import figures


def outputs(sides: Sequence[Side], seen: Sequence[Observation | None]) -> Table:
    """Make a line for each output leaf and a column for each side: its type and its digest.

    Example::

        outputs(("legacy",), observations).rows[0][0].text == (tree)
    """
    leaves = [{leaf.path: leaf for leaf in item.outputs} if item else {} for item in seen]
    paths = list(dict.fromkeys(path for by_path in leaves for path in by_path))
    rows: list[tuple[Cell, ...]] = []
    if any(item and item.tree is not None for item in seen):
        trees = (Cell(item.tree) if item and item.tree is not None else NOTHING for item in seen)
        rows.append((Cell("(tree)"), *trees))
    for path in paths:
        cells = (_output(by_path.get(path)) for by_path in leaves)
        rows.append((Cell(path or "(result)"), *cells))
    return Table("Outputs", (Column("output"), *columns(sides)), tuple(rows), what="outputs")


def _output(leaf: OutputLeaf | None) -> Cell:
    if leaf is None:
        return NOTHING
    kind = f"{leaf.dtype}[{','.join(map(str, leaf.shape))}]{' weak' if leaf.weak_type else ''}"
    return Cell(f"{kind} {leaf.sha256[:12]}", f"sha256 {leaf.sha256}")


def operations(sides: Sequence[Side], seen: Sequence[Observation | None]) -> Table:
    """Make a line for each operation: how often each side has it, unequal counts first.

    Example::

        operations(("legacy",), observations).rows[0][0].text == "stablehlo.constant"
    """
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
