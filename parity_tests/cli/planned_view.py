"""A planned campaign in the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.table import Table

from reports.document import Items
from reports.documents import plan
from reports.views.texts import cut, left_out, visible

if TYPE_CHECKING:
    from rich.console import Console

    from reports.rows.plan import PlanReport

_CAUSES_SHOWN = 10
_LIBRARIES_SHOWN = 20
_LENGTH_OF_LINE = 1000


def print_plan(console: Console, report: PlanReport, *, is_short: bool = False) -> None:
    """Print where the programs of a planned campaign stand, and the causes, the worst first.

    In short it is the answer, and the rules that are broken.
    """
    _say(console, plan.answer(report)[0])
    if is_short:
        for line in plan.broken_rules(report):
            _say(console, line)
        return
    for line in plan.lines(report):
        _say(console, line)
    libraries = plan.libraries(report)
    for each in (shown := libraries.lines[:_LIBRARIES_SHOWN]):
        _say(console, each.text)
    if notice := left_out(libraries.lines, shown, libraries.what):
        _say(console, notice)
    states = plan.states(report)
    table = Table(pad_edge=False, show_edge=False)
    for column in states.columns:
        table.add_column(column.title, justify="right" if column.numeric else "left")
    for row in states.rows:
        table.add_row(*(cell.text for cell in row))
    console.print(table)
    causes = plan.causes(report)
    for number, section in enumerate(causes[:_CAUSES_SHOWN], 1):
        _say(console, f"{number}. {section.state}: {section.title}")
        facts = next(each for each in section.parts if isinstance(each, Items))
        for fact in facts.lines:
            _say(console, f"   {fact.strong} {fact.text}")
    if (left := len(causes) - _CAUSES_SHOWN) > 0:
        _say(console, f"{left:,} more causes; --report html:PATH shows them all")


def _say(console: Console, text: str) -> None:
    text = visible(cut(text, _LENGTH_OF_LINE))
    console.print(text, highlight=False, markup=False, emoji=False, soft_wrap=True)
