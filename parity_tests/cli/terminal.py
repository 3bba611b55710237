"""The terminal: the console that results are printed on, and the progress of a run."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from parity_tests.processes.protocol import Progress as Advance
from reports.rows import DriftCause, FlipAnswer, FlipOutcome, Side, Verdict
from reports.views.texts import visible

if TYPE_CHECKING:
    from parity_tests.cli.matrix_grid import Cell

STYLES: dict[Verdict, str] = {
    "parity": "green",
    "difference": "bold red",
    "not repeatable": "yellow",
    "could not compare": "yellow",
}
ANSWER_STYLES: dict[FlipAnswer, str] = {
    "yes": "bold green",
    "yes, at a price": "bold cyan",
    "not known": "bold yellow",
    "no": "bold red",
}
FLIP_STYLES: dict[FlipOutcome, str] = {
    "safe": "green",
    "safe but slower or larger": "yellow",
    "numerics drift, explained": "cyan",
    "not repeatable": "yellow",
    "could not compare": "yellow",
    "different": "bold red",
}
DRIFT_STYLES: dict[DriftCause, str] = {
    "constant folding": "cyan",
    "layout or fusion": "cyan",
    "a bug": "bold red",
    "not attributed": "yellow",
}
LETTERS: dict[Side, str] = {
    "legacy": "L",
    "simplified": "S",
    "jax-legacy": "jL",
    "jax-simplified": "jS",
}


class PlainConsole(Console):
    """A console that shows text as it is: `:100:` in a place is no emoji, and nothing is invisible.

    Names, messages of exceptions and captured values come from the user's programs. An escape
    sequence in one of them would recolour the terminal, or write over other lines.
    """

    def render_str(self, text: str, **options: Any) -> Text:
        """Render a string, with its control characters spelled out."""
        return super().render_str(visible(text), **{**options, "emoji": False})


def console() -> Console:
    """Return the console that everything is printed on.

    A pipe has no width, and the 80 columns that rich assumes would fold the table into shreds. Nor
    has one that is to be coloured, by FORCE_COLOR, which rich takes for a terminal.
    """
    known = sys.stdout.isatty() or "COLUMNS" in os.environ
    return PlainConsole() if known else PlainConsole(width=140)


@contextmanager
def progress(console: Console | None = None) -> Iterator[Advance]:
    """Show a progress bar, or a plain line at every tenth where the console is no terminal.

    It goes to stderr unless a console is given: stdout has the results alone.
    """
    console = console or Console(stderr=True)
    if not (console.is_terminal and console.file.isatty()):
        yield _plain(console)
        return
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("loading the programs", total=None)

        def advance(done: int, total: int, text: str) -> None:
            bar.update(task, completed=done, total=total, description=visible(text)[:60].ljust(60))

        yield advance


def _plain(console: Console) -> Advance:
    def advance(done: int, total: int, text: str) -> None:
        if done and (done == total or done * 10 // total > (done - 1) * 10 // total):
            console.print(f"{done}/{total}", highlight=False)

    return advance


def print_grid(console: Console, grid: Mapping[str, Mapping[str, Cell]]) -> None:
    """Print verdicts by construct and transformation."""
    table = Table(title="construct, and transformation", title_justify="left", pad_edge=False)
    for column in ("", *next(iter(grid.values()))):
        table.add_column(column)
    for construct, cells in grid.items():
        texts = (f"[{_style_of(cell)}]{cell.text}[/]" for cell in cells.values())
        table.add_row(escape(construct), *texts)
    console.print(table)


def _style_of(cell: Cell) -> str:
    return STYLES[cell.verdict] if cell.verdict else "dim"
