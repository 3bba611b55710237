"""What `culprit`, `sweep` and `tune` have in common: how they ask, and the figures they print."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

import typer

from parity_tests.cli.exit_codes import Exit, complain

if TYPE_CHECKING:
    from parity_tests.cli.display import Display
    from parity_tests.processes.protocol import Progress
    from reports.rows.experiments import ProgramFigures

Answer = TypeVar("Answer")

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


def ask_with_progress(
    context: typer.Context, display: Display, ask: Callable[[Progress], Answer], *, to: str
) -> Answer | None:
    """Ask under a progress bar; where the experiment fails, print why and return None.

    `to` is the verb of that message. A target that names no program is an error of usage.
    """
    from parity_tests.experiments.in_worker import ExperimentError

    try:
        with display.progress(first="starting a process") as shown:
            return ask(shown)
    except ExperimentError as error:
        complain(f"could not {to} {error}")
        context.obj.code = Exit.COULD_NOT_COMPARE
        return None


def figure_cells(figures: ProgramFigures) -> list[str]:
    """Return the counts of a variant, in the order of `FIGURE_COLUMNS`."""
    counts = (getattr(figures, field) for _, field in _FIGURES)
    return ["-" if count is None else f"{count:,}" for count in counts]
