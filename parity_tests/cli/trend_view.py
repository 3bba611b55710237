"""A trend in the terminal: a line of blocks for each side or answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.markup import escape
from rich.table import Table

from parity_tests.cli.terminal import say
from reports.output.trend_plot import figure

if TYPE_CHECKING:
    from rich.console import Console

    from reports.rows.history import Trend

_BLOCKS = "▁▂▃▄▅▆▇█"
_WIDTH = 40  # points of a line, the last ones


def print_trend(console: Console, trend: Trend) -> None:
    """Print each line of a trend, by machine, and what was left out."""
    say(console, trend.title, "bold")
    for machine in dict.fromkeys(line.machine for line in trend.lines):
        say(console, machine)
        table = Table(pad_edge=False)
        for column in ("", "runs", "first", "last", "change", "from zero to the largest"):
            table.add_column(column)
        lines = [each for each in trend.lines if each.machine == machine]
        has_versions = any(line.versions for line in lines)
        if has_versions:
            table.add_column("versions")
        for line in lines:
            values = [point.value for point in line.points]
            first, last = line.points[0], line.points[-1]
            cells = (
                line.name,
                str(len(values)),
                f"{figure(trend, first.value)} ({first.label})",
                f"{figure(trend, last.value)} ({last.label})",
                _change(first.value, last.value),
                sparkline(values[-_WIDTH:]),
                *((line.versions,) if has_versions else ()),
            )
            table.add_row(*map(escape, cells))
        console.print(table)
    if not trend.lines:
        say(console, "no run has a value of it")
    for note in trend.notes:
        say(console, note)


def sparkline(values: Sequence[float]) -> str:
    """Draw values as blocks, from zero to the largest.

    Example::

        >>> sparkline([0, 1, 2])
        '▁▄█'
    """
    largest = max(values, default=0)
    if largest <= 0:
        return _BLOCKS[0] * len(values)
    top = len(_BLOCKS) - 1
    return "".join(_BLOCKS[int(max(value, 0) / largest * top + 0.5)] for value in values)


def _change(first: float, last: float) -> str:
    if first == last:
        return "none"
    return f"x {last / first:.2f}" if first else "from none"
