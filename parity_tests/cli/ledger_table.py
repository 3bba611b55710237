"""The ledger of a program as a table that fits the terminal.

Where a column for each side would be folded to shreds, one column says what became of an array, and
sides that agree share a line of it.
"""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from parity_tests.cli.folded_names import folded
from parity_tests.cli.terminal import LETTERS, say
from reports import document as cells
from reports.rows import Side
from reports.views.texts import visible

_TONES = {"good": "green", "bad": "bold red", "warn": "yellow", "note": "cyan", "": ""}
_NARROWEST_PLACE = 12


def print_ledger(console: Console, ledger: cells.Table, sides: Sequence[Side]) -> None:
    """Print a ledger of `reports.views.ledger`, whose last columns are those of the sides.

    Example::

        print_ledger(terminal.console(), ledger(row, sides), sides)
    """
    if _width([column.title for column in ledger.columns], _texts(ledger)) <= console.width:
        console.print(_wide(ledger))
        return
    console.print(_narrow(ledger, sides, console.width))
    if any(len(set(_fates(row, sides))) > 1 for row in ledger.rows):
        say(console, f"sides: {', '.join(f'{LETTERS[side]} {side}' for side in sides)}")


def _texts(ledger: cells.Table) -> list[list[str]]:
    return [[cell.text for cell in row] for row in ledger.rows]


def _width(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> int:
    """Return the width of a table whose cells are not folded, with its frame."""
    columns = zip(titles, *rows, strict=True)
    widths = [max(len(line) for text in texts for line in text.split("\n")) for texts in columns]
    return sum(widths) + (len(widths) + 1) + 2 * (len(widths) - 1)


def _wide(ledger: cells.Table) -> Table:
    shown = Table(pad_edge=False)
    for column in ledger.columns:
        shown.add_column(escape(column.title), justify="right" if column.numeric else "left")
    for row in ledger.rows:
        shown.add_row(*map(_styled, row))
    return shown


def _narrow(ledger: cells.Table, sides: Sequence[Side], width: int) -> Table:
    """Show the place on as many lines as it takes, so that no other cell is folded."""
    about = range(1, len(ledger.columns) - len(sides))
    kept = [i for i in about if any(row[i].text != cells.NOTHING.text for row in ledger.rows)]
    titles = ["", *(ledger.columns[i].title for i in kept), "what became of it"]
    rest = [
        ["", *(row[i].text for i in kept), "\n".join(_lines(row, sides))] for row in ledger.rows
    ]
    place = max(width - _width(titles, rest), _NARROWEST_PLACE)
    shown = Table(pad_edge=False)
    shown.add_column(escape(folded(ledger.columns[0].title, place)))
    for i in kept:
        numeric = ledger.columns[i].numeric
        shown.add_column(ledger.columns[i].title, justify="right" if numeric else "left")
    shown.add_column(titles[-1], no_wrap=True)
    for row in ledger.rows:
        name = escape(folded(visible(row[0].text), place))
        fates = "\n".join(_lines(row, sides, styled=True))
        shown.add_row(name, *(_styled(row[i]) for i in kept), fates)
    return shown


def _fates(row: Sequence[cells.Cell], sides: Sequence[Side]) -> list[str]:
    return [cell.text for cell in row[-len(sides) :]]


def _lines(row: Sequence[cells.Cell], sides: Sequence[Side], *, styled: bool = False) -> list[str]:
    """Return a line for each fate of an array, after the letters of its sides."""
    of_fate: dict[str, list[tuple[Side, cells.Cell]]] = {}
    for side, cell in zip(sides, row[-len(sides) :], strict=True):
        of_fate.setdefault(cell.text, []).append((side, cell))
    texts = {
        " ".join(LETTERS[side] for side, _ in found): _styled(found[0][1]) if styled else fate
        for fate, found in of_fate.items()
    }
    if len(texts) == 1:
        return list(texts.values())
    return [f"{letters} {text}" for letters, text in texts.items()]


def _styled(cell: cells.Cell) -> str:
    style, text = _TONES[cell.tone], escape(visible(cell.text))
    return f"[{style}]{text}[/]" if style else text
