"""The commands `constparity history ...`: runs of a store, listed, shown again, and as trends."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from parity_tests.cli.display import Display, PlainDisplay
from parity_tests.cli.exit_codes import fail
from parity_tests.cli.help_pages import Command, Group
from parity_tests.cli.options import Judging, Reporting, Store, needs_store, with_options

if TYPE_CHECKING:
    from rich.console import Console

    from reports.rows.history import StoredRun, Trend

history = typer.Typer(cls=Group, add_completion=False, rich_markup_mode=None)

_SHOWN = 20
_BLOCKS = "▁▂▃▄▅▆▇█"
_WIDTH = 40  # points of a line, the last ones
Last = Annotated[
    int,
    typer.Option(min=1, metavar="N", help="The last N runs alone."),
]


@history.callback(invoke_without_command=True)
@with_options
def list_them(
    context: typer.Context,
    store: Store = None,
    last: Last = _SHOWN,
    *,
    reporting: Annotated[Reporting, ("json",)],
    display: PlainDisplay,
) -> None:
    """List the runs that `constparity run --store FILE` has kept.

    A run names its machine, its versions and the commit of your repository; a + behind the commit
    says that files were changed since. A run without an end was interrupted or is still at work;
    the programs that it had finished are in the store.

    Examples:

      constparity run my_model.py --store runs.db

      constparity history --store runs.db

      constparity history show last --store runs.db --report html:run.html

      constparity history trend --store runs.db --metric compile --report svg:a.svg

      constparity compare last~1 last --store runs.db
    """
    if context.invoked_subcommand is not None:
        if reporting.texts:
            fail(f"--report and --json stand behind the subcommand {context.invoked_subcommand}")
        context.obj.store = store
        return
    from parity_tests.cli.report_option import write_data
    from reports.store.reading import list_runs

    requests = reporting.requests(context)
    runs = list_runs(store or needs_store())
    console = display.console()
    print_runs(console, runs, last)
    write_data(context, console, requests, {"runs": runs[-last:]})


@history.command(cls=Command)
@with_options
def show(
    context: typer.Context,
    run: Annotated[
        str, typer.Argument(metavar="RUN", help="Its number, last, or last~1 for the one before.")
    ],
    store: Store = None,
    *,
    reporting: Reporting,
    display: Annotated[Display, ("verbose", "no_color")],
) -> None:
    """Print a run as it was printed when it ended, and write reports of it.

    The JSON report is the one that the run itself would have written, bit by bit.

    Examples:

      constparity history show 3 --store runs.db

      constparity history show last --store runs.db --json > run.json
    """
    from parity_tests.cli import run_view
    from parity_tests.cli.report_option import write_reports
    from reports.store.reading import find_run, load_run

    requests = reporting.requests(context)
    file = _store_of(context, store)
    with display.progress(first=f"reading {file}"):
        found, campaign = find_run(file, run), load_run(file, run)
    console = display.console()
    print_runs(console, [found], 1)
    run_view.print_campaign(console, campaign, details=display.details)
    write_reports(context, console, requests, campaign, Judging().rules)


class Over(enum.StrEnum):
    """What the points of a trend stand for."""

    COMMIT = "commit"
    JAX = "jax"


@history.command(cls=Command)
@with_options
def trend(
    context: typer.Context,
    store: Store = None,
    metric: Annotated[
        str,
        typer.Option(
            metavar="METRIC",
            help="What is drawn: flip, compile, first-call, call, hlo, executable, constants, "
            "temporaries, host-memory, const-args or equations.",
        ),
    ] = "flip",
    program: Annotated[
        str, typer.Option(metavar="NAME", help="Of one program; without it the sum of all.")
    ] = "",
    over: Annotated[
        Over,
        typer.Option(
            metavar="commit|jax", help="Each run with its commit, or the last run on each JAX."
        ),
    ] = Over.COMMIT,
    last: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="The last N runs.", show_default="all")
    ] = None,
    *,
    reporting: Annotated[Reporting, ("svg", "json")],
    display: PlainDisplay,
) -> None:
    """Draw a metric over the runs of a store, also as an SVG picture.

    Lines join runs of one machine with the same settings and versions; over jax, settings. Sums are
    over the programs that all these runs have.

    Examples:

      constparity history trend --store runs.db

      constparity history trend --store runs.db --metric compile --program step

      constparity history trend --store runs.db --over jax --report svg:hlo.svg
    """
    from parity_tests.cli.report_option import write_data, write_texts
    from reports.output import trend_plot
    from reports.store.trends import METRICS
    from reports.store.trends import trend as trend_of

    if metric not in METRICS:
        raise typer.BadParameter(f"no metric {metric!r}; the metrics are {', '.join(METRICS)}")
    requests = reporting.requests(context)
    file = _store_of(context, store)
    with display.progress(first=f"reading {file}"):
        found = trend_of(file, metric, program=program, over=over.value, last=last)
    console = display.console()
    print_trend(console, found)
    of_json = [each for each in requests if each.format == "json"]
    plots = [each for each in requests if each.format == "svg"]
    write_data(context, console, of_json, found)
    write_texts(context, console, plots, lambda _: trend_plot.render(found))


def _store_of(context: typer.Context, store: Path | None) -> Path:
    """Return the store, which may be named before the subcommand or behind it."""
    return store or getattr(context.obj, "store", None) or needs_store()


def print_runs(console: Console, runs: list[StoredRun], last: int) -> None:
    """Print runs as a table, and the headline of the last one below it."""
    from rich.markup import escape
    from rich.table import Table

    from parity_tests.cli.terminal import ANSWER_STYLES, say
    from reports.views.texts import counted

    table = Table(pad_edge=False)
    for column in ("run", "begun", "machine", "jax", "commit", "programs", "flip"):
        table.add_column(column, justify="right" if column in ("run", "programs") else "left")
    for each in runs[-last:]:
        answer = each.answer
        of_all = "" if each.finished else f" of {each.planned}, no end"
        cells = [
            str(each.id),
            each.started.replace("T", " ").removesuffix("+00:00"),
            each.machine,
            each.environment.jax,
            str(each.commit or ""),
            f"{each.programs}{of_all}",
        ]
        style = ANSWER_STYLES[answer] if answer else "dim"
        table.add_row(*map(escape, cells), f"[{style}]{answer or 'not asked'}[/]")
    console.print(table)
    if len(runs) > last:
        say(console, f"{counted(len(runs) - last, 'earlier run')} not shown (--last)")
    if runs and runs[-1].question:
        say(console, f"{runs[-1].label}: {runs[-1].question}")


def print_trend(console: Console, trend: Trend) -> None:
    """Print each line of a trend, by machine, and what was left out.

    The last points of a line are blocks, from zero to the largest.
    """
    from rich.markup import escape
    from rich.table import Table

    from parity_tests.cli.terminal import say
    from reports.output.trend_plot import figure

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
        say(console, "no line: no program has a value of it in all of the runs")
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
