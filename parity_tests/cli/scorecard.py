"""The command `constparity scorecard`: its options, its output and its exit status."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from parity_tests.cli.display import Display
from parity_tests.cli.exit_codes import Exit, complain
from parity_tests.cli.options import ExitZero, Jobs, Reporting
from parity_tests.cli.python_option import JaxVersions, Python, interpreters, pythons_of
from reports.kinds import formats_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from parity_tests.scorecard.score import Line
    from reports.rows.scorecard import Scorecard


def scorecard(
    context: typer.Context,
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="LINE", help="Lines by name. Without them, all lines."),
    ] = None,
    jax: JaxVersions = None,
    python: Python = None,
    jobs: Jobs = None,
    exit_zero: ExitZero = False,
    *,
    reporting: Annotated[Reporting, formats_of("scorecard")],
    display: Display,
) -> None:
    """Show what stands between JAX and a flipped default: one small program for each thing.

    Each program runs on stock JAX in both modes, and on the engine's two sides where the engine
    takes that JAX, each time in a process of its own. It states what the fault looks like and what
    right looks like; the state of its line on a release follows from what it showed there: open,
    fixed, changed (neither), new (open, and not on the release before), not in this release, or
    not known, where it failed in another way. Exits with 0 where nothing stands against the flip on
    the newest release, with 1 where a fault that the flip makes, and not by design, is open or new,
    or any line has changed, and with 2 where one is not known.

    Examples:

      constparity scorecard

      constparity scorecard --jax 0.10.2,0.12.0.1 --report md:scorecard.md
    """
    from parity_tests.cli.report_option import write_reports
    from parity_tests.processes.interpreters import FileFailedError
    from parity_tests.scorecard.score import score

    lines = _chosen(names or ())
    requests = reporting.requests(context)
    made = pythons_of(context, jax, None)
    if made is None:
        return
    pythons = interpreters([*(python or ()), *made]) or [Path(sys.executable)]
    try:
        with display.progress(first="starting the programs") as shown:
            found = score(lines, pythons, jobs=jobs or 2, progress=shown)
    except FileFailedError as error:
        complain(f"the programs could not be run: {error}")
        context.obj.code = Exit.COULD_NOT_COMPARE
        return
    console = display.console()
    print_scorecard(console, found, details=display.details)
    context.obj.code = Exit.PARITY if exit_zero else _exit_of(found)
    write_reports(context, console, requests, found)


def _chosen(names: Sequence[str]) -> list[Line]:
    """Return the lines of these names, or all. Raises `typer.BadParameter`."""
    from parity_tests.scorecard.score import lines
    from parity_tests.suggestions import close

    found = {each.name: each for each in lines()}
    for name in names:
        if name not in found:
            meant = close(name, found) or f"; the lines are {', '.join(found)}"
            raise typer.BadParameter(f"no line {name!r}{meant}")
    return [found[name] for name in names] if names else list(found.values())


def _exit_of(found: Scorecard) -> Exit:
    states = {each.newest.state for each in found.lines}
    against = {each.newest.state for each in found.lines if each.effect == "against the flip"}
    if "not known" in states:
        return Exit.COULD_NOT_COMPARE
    return Exit.DIFFERENCE if "changed" in states or against & {"open", "new"} else Exit.PARITY


def print_scorecard(console: Console, found: Scorecard, *, details: int = 1) -> None:
    """Print the states, and with `details` 2 what each program showed."""
    from rich.markup import escape
    from rich.table import Table

    from parity_tests.cli.terminal import say
    from reports.documents import scorecard as documents

    say(console, documents.headline(found), style="bold")
    if not details:
        return
    for text in documents.facts(found):
        say(console, f"  {text}")
    for table in documents.state_tables(found):
        shown = Table(pad_edge=False, title=table.caption, title_justify="left")
        for number, column in enumerate(table.columns):
            names = [row[number].text for row in table.rows] if column.title == "line" else []
            shown.add_column(column.title, min_width=max(map(len, names), default=None))
        for row in table.rows:
            shown.add_row(*(escape(cell.text) for cell in row))
        console.print(shown)
    for line in found.lines if details > 1 else ():
        say(console, line.name, style="bold")
        for each in documents.seen(line):
            say(console, f"  {each.strong} {each.text}")
