"""The grid that `constparity matrix` prints: verdicts by construct and transformation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from parity_tests.cli.terminal import STYLES
from parity_tests.transform_matrix import CONSTRUCTS, TRANSFORMS, UNDEFINED
from reports.rows import Campaign, ProgramRow, Verdict
from reports.rows.check_names import AGREE, EXPORT, RELOAD

# Columns that are no transformations: each shows a check of the cell under jit.
WAYS: Mapping[str, str] = {
    "ahead of time": AGREE,
    "export": EXPORT,
    "cache reload": RELOAD,
}


@dataclass(frozen=True)
class Cell:
    """One cell of the grid: its verdict, or the reason why it has none.

    It is "undefined" where JAX does not define it, and "refused" where all sides refuse it alike.
    """

    verdict: Verdict | None = None
    without: Literal["undefined", "refused", "not tested"] = "not tested"

    @property
    def text(self) -> str:
        """The cell in words."""
        return self.verdict or self.without


def grid(campaign: Campaign) -> dict[str, dict[str, Cell]]:
    """Arrange the verdicts of a campaign over the matrix by construct, then by transformation.

    Example::

        found = run([transform_matrix.__name__], CampaignOptions(reload=True))
        grid(found)["scan"]["grad"].verdict
    """
    rows = {row.name: row for row in campaign.programs}

    def cell(construct: str, transform: str) -> Cell:
        if (construct, transform) in UNDEFINED:
            return Cell(without="undefined")
        row = rows.get(f"{construct} under {transform}")
        return Cell(row.verdict) if row else Cell()

    return {
        construct: {
            **{transform: cell(construct, transform) for transform in TRANSFORMS},
            **{
                way: _outcome(rows.get(f"{construct} under jit"), check)
                for way, check in WAYS.items()
            },
        }
        for construct in CONSTRUCTS
    }


def _outcome(row: ProgramRow | None, check: str) -> Cell:
    """Sum up the outcomes of one check over the sides of a program."""
    found = [each for item in (row.observations if row else ()) for each in item.checks]
    held = [each.holds for each in found if each.name == check]
    if not held:
        return Cell()
    if any(held) != all(held):
        return Cell("difference")
    return Cell("parity") if all(held) else Cell(without="refused")


def print_grid(console: Console, grid: Mapping[str, Mapping[str, Cell]]) -> None:
    """Print verdicts by construct and transformation."""
    table = Table(title="construct, and transformation", title_justify="left", pad_edge=False)
    for column in ("", *next(iter(grid.values()))):
        table.add_column(column)
    for construct, cells in grid.items():
        styled = (
            (STYLES[cell.verdict] if cell.verdict else "dim", cell.text) for cell in cells.values()
        )
        table.add_row(escape(construct), *(f"[{style}]{text}[/]" for style, text in styled))
    console.print(table)
