"""A planned campaign in the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.table import Table

from reports.views.plan_page import broken_rules, plan_page
from reports.views.texts import visible

if TYPE_CHECKING:
    from rich.console import Console

    from reports.rows.plan import PlanReport

_CAUSES_SHOWN = 10


def print_plan(console: Console, report: PlanReport, *, is_short: bool = False) -> None:
    """Print where the programs of a planned campaign stand, and the causes, the worst first.

    In short it is the answer, and the rules that are broken.
    """
    page = plan_page(report)
    _say(console, page.title)
    if is_short:
        for line in broken_rules(report):
            _say(console, line)
        return
    for line in page.lines:
        _say(console, line)
    table = Table(pad_edge=False, show_edge=False)
    for column in page.states.columns:
        table.add_column(column.title, justify="right" if column.numeric else "left")
    for row in page.states.rows:
        table.add_row(*(cell.text for cell in row))
    console.print(table)
    for section in page.sections[:_CAUSES_SHOWN]:
        _say(console, f"{section.number}. {section.state}: {section.title}")
        for word, what in section.facts:
            _say(console, f"   {word}: {what}")
    if (left := len(page.sections) - _CAUSES_SHOWN) > 0:
        _say(console, f"{left:,} more causes; --report html:PATH shows them all")


def _say(console: Console, text: str) -> None:
    console.print(visible(text), highlight=False, markup=False, emoji=False, soft_wrap=True)
