"""The figures of one variant of a program as the cells of a table in a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reports.rows.experiments import ProgramFigures

# Each count that a table shows: the heading of its column, and the field that has it.
_FIGURES = (
    ("const\nargs", "const_args"),
    ("StableHLO\nbytes", "text_bytes"),
    ("inlined\nbytes", "inlined_bytes"),
    ("optimised HLO\nconstants", "optimised_constant_bytes"),
    ("argument\nbytes", "argument_bytes"),
    ("temporary\nbytes", "temporary_bytes"),
)
FIGURE_COLUMNS = tuple(heading for heading, _ in _FIGURES)


def figure_cells(figures: ProgramFigures) -> list[str]:
    """Return the counts of a variant, in the order of `FIGURE_COLUMNS`."""
    counts = (getattr(figures, field) for _, field in _FIGURES)
    return ["-" if count is None else f"{count:,}" for count in counts]
