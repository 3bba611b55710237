"""Explain: the captured arrays and the hazards of each program, as a terminal shows them.

Where a column for each side would be folded to shreds, one column says what became of an array, and
sides that agree share a line of it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from parity_tests.cli.reasons_once import told_once
from parity_tests.cli.run_view import (
    indented,
    named,
    print_flip,
    print_headline,
    print_measured,
    print_tracebacks,
)
from parity_tests.cli.terminal import FLIP_STYLES, LETTERS, STYLES, TONE_STYLES, say
from reports import document as cells
from reports.output.caps import Caps, capped_table
from reports.rows import Campaign, Hazard, ProgramRow, Side, worst_first
from reports.views import ledger as ledger_view
from reports.views.texts import visible

_CAPS = Caps(sections=0, rows=40, items=0, text=250)
_NARROWEST_PLACE = 12
_SEPARATORS = "_-./:"  # of the parts of a name


def print_explanation(console: Console, campaign: Campaign, *, details: int = 1) -> None:
    """Print the headline, and what each program captured and each side made of it.

    Unless `details` is 0, what a flip may change follows, with 2 the reasons of the verdict as
    well, which has all pairs of sides.
    """
    print_headline(console, campaign)
    if details:
        print_measured(console, campaign)
        console.print()
    for row in worst_first(campaign.programs):
        said = f"{named(row)}: verdict: {row.verdict}"
        say(console, said, STYLES[row.verdict])
        _print_ledger(console, row, campaign.sides)
        if not details:
            continue
        if row.flip is not None:
            console.print(f"  [{FLIP_STYLES[row.flip.outcome]}]flip: {row.flip.outcome}[/]")
            print_flip(console, row.flip)  # hazards are among its reasons
        else:
            for group in ledger_view.grouped(row.hazards):
                _print_hazards(console, group)
        if details > 1:
            for reason in told_once(row.reasons, row.flip, in_full=True):
                say(console, f"    {indented(reason)}")
        print_tracebacks(console, row)
        console.print()


def _print_ledger(console: Console, row: ProgramRow, sides: tuple[Side, ...]) -> None:
    ledger = capped_table(ledger_view.ledger(row, sides), _CAPS)
    if ledger.rows:
        print_ledger(console, ledger, sides)
    elif any(each.failure is None for each in row.observations):
        console.print("    no captured arrays", highlight=False)
    else:
        console.print("    captured arrays: not known, for no side ran", highlight=False)
    if ledger.notice:
        console.print(f"    {ledger.notice}", highlight=False)


def _print_hazards(console: Console, hazards: tuple[Hazard, ...]) -> None:
    what, fix = hazards[0].what, hazards[0].fix
    console.print(f"  [yellow]hazard: {hazards[0].kind}[/]: {escape(what)}", soft_wrap=True)
    arrays = Counter(f"{ledger_view.place(h.file, h.line)}: {h.array}" for h in hazards)
    times = (f"{text} ({count} arrays)" if count > 1 else text for text, count in arrays.items())
    for text in (*times, f"fix: {fix}"):
        say(console, f"    {text}")


def print_ledger(console: Console, ledger: cells.Table, sides: Sequence[Side]) -> None:
    """Print a ledger of `reports.views.ledger`, whose last columns are those of the sides."""
    texts = [[cell.text for cell in row] for row in ledger.rows]
    if width_of([column.title for column in ledger.columns], texts) <= console.width:
        console.print(_wide(ledger))
        return
    console.print(_narrow(ledger, sides, console.width))
    if any(len(set(row[-len(sides) :])) > 1 for row in texts):
        say(console, f"sides: {', '.join(f'{LETTERS[side]} {side}' for side in sides)}")


def width_of(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> int:
    """Return the width of a table whose cells are not folded, with its frame.

    Example::

        width_of(["captured at", "size"], [["model.py:11", "4.0 KiB"]]) == 23
    """
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
    place = max(width - width_of(titles, rest), _NARROWEST_PLACE)
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
    style, text = TONE_STYLES[cell.tone], escape(visible(cell.text))
    return f"[{style}]{text}[/]" if style else text


def folded(name: str, width: int) -> str:
    r"""Break a name into lines of at most `width` characters, after a separator where it has one.

    Example::

        >>> folded("other_order_of_bits", 18)
        'other_order_of_\nbits'
    """
    width = max(width, 1)
    lines = []
    for line in name.split("\n"):
        rest = line
        while len(rest) > width:
            # A space that does not fit is not missed.
            ends = [rest.rfind(" ", 0, width + 1), *(rest.rfind(c, 0, width) for c in _SEPARATORS)]
            end = max(ends) + 1
            # A line of a few characters is worse than a word that is cut.
            end = end if end > width // 3 else width
            lines.append(rest[:end].rstrip(" "))
            rest = rest[end:]
        lines.append(rest)
    return "\n".join(lines)
