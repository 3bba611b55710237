"""The figures of one variant of a program as the cells of a table in a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reports.rows.experiments import ProgramFigures

FIGURE_COLUMNS = (
    "const\nargs", "StableHLO\nbytes", "inlined\nbytes", "optimised HLO\nconstants",
    "argument\nbytes", "temporary\nbytes",
)  # fmt: skip


def figure_cells(figures: ProgramFigures) -> list[str]:
    """The counts of a variant, in the order of `FIGURE_COLUMNS`."""
    counts = (
        figures.const_args, figures.text_bytes, figures.inlined_bytes,
        figures.optimised_constant_bytes, figures.argument_bytes, figures.temporary_bytes,
    )  # fmt: skip
    return ["-" if count is None else f"{count:,}" for count in counts]
