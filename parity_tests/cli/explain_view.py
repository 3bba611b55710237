"""Explain: the captured arrays and the hazards of each program, as a terminal shows them."""

from __future__ import annotations

from collections import Counter

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from parity_tests.cli.campaign_view import print_flip, print_headline
from parity_tests.cli.terminal import FLIP_STYLES, STYLES
from reports.rows import Campaign, Hazard, ProgramRow, Side, worst_first
from reports.views import cells
from reports.views import ledger as ledger_view

_TONES = {"good": "green", "bad": "bold red", "warn": "yellow", "note": "cyan", "": ""}


def print_explanation(console: Console, campaign: Campaign, *, details: int = 1) -> None:
    """Print the headline; then, unless `details` is 0, what became of the arrays of each program.

    That is what it captured, what each side made of it, and what a flip may change. Unless
    `details` is 2, parts that were not measured are left out of programs that a flip leaves alone.

    Example::

        print_explanation(terminal.console(), campaign.run(["my_model.py"]))
    """
    print_headline(console, campaign)
    console.print()
    for row in worst_first(campaign.programs):
        console.print(f"[{STYLES[row.verdict]}]{row.verdict}[/] {escape(row.name)}", end=" ")
        console.print(f"({row.source})", highlight=False, markup=False, soft_wrap=True)
        _print_ledger(console, row, campaign.sides)
        if row.flip is not None:
            console.print(f"  [{FLIP_STYLES[row.flip.outcome]}]flip: {row.flip.outcome}[/]")
            print_flip(console, row.flip)  # hazards are among its reasons
        else:
            for group in ledger_view.grouped(row.hazards):
                _print_hazards(console, group)
        console.print()


def _print_ledger(console: Console, row: ProgramRow, sides: tuple[Side, ...]) -> None:
    ledger = ledger_view.ledger(row, sides)
    if ledger.rows:
        console.print(_terminal_table(ledger))
    else:
        console.print("    no captured arrays", highlight=False)
    if ledger.notice:
        console.print(f"    {ledger.notice}", highlight=False)


def _print_hazards(console: Console, hazards: tuple[Hazard, ...]) -> None:
    what, fix = hazards[0].what, hazards[0].fix
    console.print(f"  [yellow]hazard: {hazards[0].kind}[/]: {escape(what)}", soft_wrap=True)
    arrays = Counter(f"{ledger_view.place(h.file, h.line)}: {h.array}" for h in hazards)
    times = (f"{text} ({count} arrays)" if count > 1 else text for text, count in arrays.items())
    for text in (*times, f"fix: {fix}"):
        console.print(f"    {text}", highlight=False, markup=False, soft_wrap=True)


def _terminal_table(table: cells.Table) -> Table:
    shown = Table(pad_edge=False)
    for column in table.columns:
        shown.add_column(
            escape(column.title), justify="right" if column.numeric else "left", overflow="fold"
        )
    for row in table.rows:
        shown.add_row(*map(_styled, row))
    return shown


def _styled(cell: cells.Cell) -> str:
    style = _TONES[cell.tone]
    return f"[{style}]{escape(cell.text)}[/]" if style else escape(cell.text)
