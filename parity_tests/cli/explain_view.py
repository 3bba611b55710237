"""Explain: the captured arrays and the hazards of each program, as a terminal shows them."""

from __future__ import annotations

from collections import Counter

from rich.console import Console
from rich.markup import escape

from parity_tests.cli.campaign_view import indented, print_flip, print_headline, print_measured
from parity_tests.cli.ledger_table import print_ledger
from parity_tests.cli.reasons_once import told_once
from parity_tests.cli.terminal import FLIP_STYLES, STYLES, say
from reports.render.caps import Caps, capped_table
from reports.rows import Campaign, Hazard, ProgramRow, Side, worst_first
from reports.views import ledger as ledger_view

_CAPS = Caps(sections=0, rows=40, items=0, text=250)


def print_explanation(console: Console, campaign: Campaign, *, details: int = 1) -> None:
    """Print the headline; then, unless `details` is 0, what became of the arrays of each program.

    That is what it captured, what each side made of it, and what a flip may change. With 2 the
    reasons of the verdict follow, which has all pairs of sides.

    Example::

        print_explanation(terminal.console(), campaign.run(["my_model.py"]))
    """
    print_headline(console, campaign)
    if not details:
        return
    print_measured(console, campaign)
    console.print()
    for row in worst_first(campaign.programs):
        say(console, f"{row.verdict} {row.name} ({row.source})", STYLES[row.verdict])
        _print_ledger(console, row, campaign.sides)
        if row.flip is not None:
            console.print(f"  [{FLIP_STYLES[row.flip.outcome]}]flip: {row.flip.outcome}[/]")
            print_flip(console, row.flip)  # hazards are among its reasons
        else:
            for group in ledger_view.grouped(row.hazards):
                _print_hazards(console, group)
        if details > 1:
            for reason in told_once(row.reasons, row.flip, in_full=True):
                say(console, f"    {indented(reason)}")
        console.print()


def _print_ledger(console: Console, row: ProgramRow, sides: tuple[Side, ...]) -> None:
    ledger = capped_table(ledger_view.ledger(row, sides), _CAPS)
    if ledger.rows:
        print_ledger(console, ledger, sides)
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
        say(console, f"    {text}")
