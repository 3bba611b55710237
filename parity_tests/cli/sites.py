"""The command `constparity sites`: its options, its output and its exit status."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from parity_tests.cli.bisect import Command, no_jax
from parity_tests.cli.display import Display
from parity_tests.cli.exit_codes import Exit, check_engine_runs, fail, interrupted
from parity_tests.cli.options import Reporting
from reports.kinds import formats_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from reports.document import Table
    from reports.rows.sites import Sites

_MOST_ROWS = 20
_WIDE_ALONE = ("read by", "lowered", "copies in legacy")  # left out where not all columns fit
_NARROWEST = 14
_STANDARD_ERROR = 2


def sites(
    context: typer.Context,
    command: Command,
    min_bytes: Annotated[
        int,
        typer.Option(min=0, metavar="N", help="Only count arrays of fewer bytes."),
    ] = 0,
    *,
    reporting: Annotated[Reporting, formats_of("sites")],
    display: Display,
) -> None:
    """List every array that a command captures, with its line, the largest first.

    The command is run once, in this terminal, as before the flip; all its processes are read. Each
    row is the arrays of one type at one line: how large they are, which jitted functions capture
    them, how many programs were lowered with them, and how many copies of them legacy inlines.
    Arrays below the embed threshold are left out, since no flip hoists them. Exits with 0 where the
    command did, with 2 where it failed, for it may capture more, and with 5 where it imports no
    JAX. The list is printed in each case.

    Examples:

      constparity sites -- python train.py --steps 10

      constparity sites --report sarif:out.sarif --min-bytes 1000000 -- pytest
    """
    from parity_tests.bisect.listing import listed
    from parity_tests.bisect.running import (
        CommandError,
        NoJaxError,
        check_command,
        check_reached,
        run_here,
    )
    from parity_tests.bisect.sites import Flips
    from parity_tests.cli.report_option import write_reports

    check_engine_runs("sites")
    requests = reporting.requests(context)
    takes_output = any(each.path is None for each in requests)
    try:
        check_command(command)
        ended = run_here(
            command, Flips.of("none"), output=_STANDARD_ERROR if takes_output else None
        )
        check_reached(ended, command)
    except NoJaxError as error:
        no_jax(context, error)
        return
    except CommandError as error:
        fail(str(error))
    found = listed(command, ended, min_bytes)
    console = display.console()
    print_sites(console, found, details=display.details)
    context.obj.code = Exit.COULD_NOT_COMPARE if ended.exit_status else Exit.PARITY
    if ended.interrupted:
        interrupted(context, "; the list has what was captured until then")
    write_reports(context, console, requests, found)


def print_sites(console: Console, found: Sites, *, details: int = 1) -> None:
    """Print the totals and, unless `details` is 0, the largest arrays; with 2 all of them."""
    from parity_tests.cli.terminal import say
    from reports.documents import sites as documents

    say(console, documents.headline(found), style="bold")
    if not details:
        return
    for text in documents.facts(found):
        say(console, f"  {text}")
    table = documents.captured_table(found)
    rows = table.rows if details > 1 else table.rows[:_MOST_ROWS]
    if rows:
        console.print(_shown(table, [[cell.text for cell in row] for row in rows], console.width))
    if len(rows) < len(table.rows):
        say(console, f"  {len(table.rows) - len(rows):,} more lines; -v prints them")
    for each in found.captured:
        if each.fixed:
            say(console, f"  not flipped by itself: {documents.place_of(each)}: {each.fixed}")
    for text in found.not_reached:
        say(console, f"  out of reach, captured outside of jax.jit: {text}")


def _shown(table: Table, rows: Sequence[Sequence[str]], width: int) -> Any:
    """Make a table for a terminal; a narrow one leaves columns out, and folds what it keeps."""
    from rich.markup import escape
    from rich.table import Table as Shown

    from parity_tests.cli.explain_view import folded, width_of

    titles = [column.title for column in table.columns]
    kept = list(range(len(titles)))
    if width_of(titles, rows) > width:
        kept = [i for i in kept if titles[i] not in _WIDE_ALONE]
        narrow = max(width // 6, _NARROWEST)
        titles = [folded(title, narrow) for title in titles]
        rows = [[row[0], *(folded(text, narrow) for text in row[1:])] for row in rows]
        others = [[row[i] for i in kept[1:]] for row in rows]
        place = max(width - width_of([titles[i] for i in kept[1:]], others) - 3, narrow)
        rows = [[folded(row[0], place), *row[1:]] for row in rows]
    shown = Shown(pad_edge=False)
    for i in kept:
        numeric = table.columns[i].numeric
        shown.add_column(titles[i], justify="right" if numeric else "left", overflow="fold")
    for row in rows:
        shown.add_row(*(escape(row[i]) for i in kept))
    return shown
