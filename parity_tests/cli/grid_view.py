"""A grid on a terminal: the headline, a line for each program and flag, and what changes when.

The worst program comes first. Programs for which a flip is safe on all versions that ran, and that
none of them changes, are only named.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from parity_tests.cli.terminal import ANSWER_STYLES, TONE_STYLES, on_one_line, say
from reports.documents.grid import besides, counts_of, failures
from reports.rows.grid import Grid
from reports.rows.grid_row import GridRow, VersionChange
from reports.views import growth, measured
from reports.views.grid_cells import (
    FLIP_LINE,
    SIDE_LINES,
    Line,
    counters_of,
    first_changed,
    is_quiet,
    legend,
    lines,
    of_quiet,
    said_of,
    worst_first,
)
from reports.views.texts import counted, cut

_LEAST_WIDTH_OF_CELL = 8  # the longest word, and most versions
_LEAST_WIDTH_OF_NAME = 22
_LENGTH_OF_REASON = 200
_LENGTH_OF_FAILURE = 500


def print_grid(console: Console, grid: Grid, *, details: int = 1) -> None:
    """Print the headline; then, unless `details` is 0, the programs and what changes when.

    With 2 all programs are in the table, and counters that changed are printed, too.
    """
    print_headline(console, grid)
    if not details:
        return
    _print_measured(console, grid)
    rows = worst_first(grid)
    shown = rows if details > 1 else [row for row in rows if not is_quiet(grid, row)]
    found = [(row, lines(grid, row)) for row in shown]
    if found:
        for versions in _blocks(console.width, grid):
            console.print()
            _print_table(console, grid, found, versions)
        for text in legend([line for _, of in found for line in of]):
            console.print(text, style="dim", highlight=False, markup=False)
    if len(shown) < len(rows):
        for known, names in of_quiet(grid, [row for row in rows if row not in shown]):
            say(console, f"{known}: {counted(len(names), 'program')}: {', '.join(names)}")
    _print_failures(console, grid)
    _print_changes(console, grid, shown, counters=details > 1)
    _print_counters(console, grid, details)
    for line in growth.lines(grid.campaigns):
        say(console, line)


def print_headline(console: Console, grid: Grid) -> None:
    """Print on which versions the default may be flipped, and what versions change."""
    headline = grid.headline
    say(console, headline.question, ANSWER_STYLES[headline.flip] if headline.flip else "")
    say(console, headline.verdicts)
    say(console, headline.left_alone)
    for answer in headline.versions:
        told = counts_of(answer) if answer.counts else answer.first
        say(console, f"  {answer.version}: {answer.flip or 'not asked'}: {told}")
    if apart := besides(grid):
        say(console, apart)


def _print_measured(console: Console, grid: Grid) -> None:
    """Print the versions that the sides of each campaign were measured with."""
    for version in grid.versions:
        for line in measured.lines_of(version.campaign) if version.campaign else ():
            say(console, f"  {version.label}: {line}")


def print_changed(console: Console, name: str, changes: Sequence[VersionChange]) -> None:
    """Print a line for what each of these changes of version does to a program.

    Without one, the program cannot be loaded on a version.
    """
    for each in changes:
        say(console, f"{name}: {SIDE_LINES[each.side]}: {_short(said_of(each))}")
    if not changes:
        say(console, f"{name}: it cannot be loaded on a version, and ran on one before")


# -- the table -------------------------------------------------------------------------------------


def _blocks(width: int, grid: Grid) -> Iterator[range]:
    """Yield the versions that stand beside each other: as many as the terminal has room for."""
    count = len(grid.versions)
    names = _LEAST_WIDTH_OF_NAME + 1 + _width_of_labels(grid)
    room = max((width - names) // (_width_of_cells(grid) + 1), 1)
    for start in range(0, count, room):
        yield range(start, min(start + room, count))


def _width_of_labels(grid: Grid) -> int:
    return max(len(label) for label in (FLIP_LINE, *(SIDE_LINES[side] for side in grid.sides)))


def _width_of_cells(grid: Grid) -> int:
    heads = (word for each in grid.versions for word in each.label.split())
    return max(_LEAST_WIDTH_OF_CELL, *map(len, heads))


def _print_table(
    console: Console, grid: Grid, found: Sequence[tuple[GridRow, tuple[Line, ...]]], shown: range
) -> None:
    labels = [grid.versions[number].label.split() for number in shown]
    cells = [_width_of_cells(grid)] * len(shown)
    room = console.width - (_width_of_labels(grid) + 1) - sum(each + 1 for each in cells)
    names = [on_one_line(row.name) for row, _ in found]
    longest = max(map(len, ("program", *names)))
    widths = [min(longest, max(room, _LEAST_WIDTH_OF_NAME)), _width_of_labels(grid), *cells]
    most = max(map(len, labels))
    for line in range(most):
        words = [[*[""] * (most - len(each)), *each][line] for each in labels]
        first = "program" if line == most - 1 else ""
        _print_line(console, widths, [(each, "bold") for each in (first, "", *words)])
    say(console, "─" * (sum(widths) + len(widths) - 1))
    for name, (_, of) in zip(names, found, strict=True):
        is_long = len(name) > widths[0]
        if is_long:  # it is not split, and has a line of its own
            say(console, name)
        for number in range(max(not is_long, len(of))):
            first = "" if is_long or number else name
            row = of[number] if number < len(of) else None
            told = [row.cells[each] for each in shown] if row else []
            texts = [(cell.text, TONE_STYLES[cell.tone]) for cell in told]
            _print_line(console, widths, [(first, ""), (row.label if row else "", ""), *texts])


def _print_line(console: Console, widths: Sequence[int], cells: Sequence[tuple[str, str]]) -> None:
    line = Text()
    for width, (text, style) in zip(widths, cells, strict=False):
        line.append(text, style).append(" " * max(width - cell_len(text) + 1, 1))
    line.rstrip()
    console.print(line, highlight=False, soft_wrap=True)


# -- what changes ----------------------------------------------------------------------------------


def _print_failures(console: Console, grid: Grid) -> None:
    """Print each failure of a version once, with the programs that it befalls."""
    table = failures(grid)
    if table.rows:
        console.print()
        say(console, "failures:")
    for versions, flag, said, place, count, names in table.rows:
        failure = cut(said.text, _LENGTH_OF_FAILURE)
        say(console, f"  {versions.text}, {flag.text}: {failure} ({place.text})")
        say(console, f"    {count.text}: {cut(names.text, _LENGTH_OF_REASON)}")


def _print_changes(
    console: Console, grid: Grid, rows: Sequence[GridRow], *, counters: bool
) -> None:
    """Print what changes when for each program; programs for which it is the same, together."""
    alike: dict[tuple[str, ...], list[str]] = {}
    for row in rows:
        alike.setdefault(tuple(_changes(grid, row, counters=counters)), []).append(
            on_one_line(row.name)
        )
    for told, names in alike.items():
        if told:
            many = f"{counted(len(names), 'program')}: " if len(names) > 1 else ""
            say(console, f"{many}{', '.join(names)}", "bold")
        for line in told:
            say(console, f"    {line}")


def _changes(grid: Grid, row: GridRow, *, counters: bool) -> Iterator[str]:
    for change in row.changes:
        yield f"flip: {first_changed(change)}"
        for cell in (change.before, change.after):
            if cell.why:
                yield f"  {cell.version}: {_short(cell.why)}"
    for cell, version in zip(row.cells, grid.versions, strict=True):
        if version.campaign is not None and cell.state in ("not there", "not loaded", "not run"):
            yield f"{cell.version}: {cell.state}: {_short(cell.why)}"
    for each in grid.changes_of(row.name):
        if each.is_news or counters:
            yield f"{SIDE_LINES[each.side]}: {_short(said_of(each))}"
        if counters and each.counters:
            yield f"  counters: {'; '.join(counters_of(each))}"


def _short(text: str) -> str:
    return cut(" ".join(text.split()), _LENGTH_OF_REASON)


def _print_counters(console: Console, grid: Grid, details: int) -> None:
    changed = [each for each in grid.changes if each.counters]
    if changed and details < 2:
        programs = counted(len({each.program for each in changed}), "program")
        say(console, f"counters, which nobody judges, change for {programs}: -v shows them")
