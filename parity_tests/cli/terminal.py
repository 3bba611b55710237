"""Print a campaign on a terminal: a progress bar while it runs, then its rows as a table."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from parity_tests.evidence.tolerance_ladder import worst_rung
from parity_tests.processes.protocol import Progress as Advance
from reports.rows import (
    FLIP_OUTCOMES,
    Campaign,
    DriftCause,
    FlipOutcome,
    FlipVerdict,
    Observation,
    ProgramRow,
    Side,
    TimeVerdict,
    metrics,
)
from reports.rows.metric_records import Metric, TerminalColumn
from reports.views.ledger import place
from reports.views.texts import counted

STYLES = {
    "parity": "green",
    "difference": "bold red",
    "not repeatable": "yellow",
    "could not compare": "yellow",
}
TIME_VERDICTS: tuple[TimeVerdict, ...] = (
    "faster", "slower", "equivalent", "inconclusive", "not measured",
)  # fmt: skip
FLIP_STYLES: dict[FlipOutcome, str] = {
    "safe": "green",
    "safe but slower or larger": "yellow",
    "numerics drift, explained": "cyan",
    "different": "bold red",
    "not repeatable": "yellow",
    "could not compare": "yellow",
}
DRIFT_STYLES: dict[DriftCause, str] = {
    "constant folding": "cyan",
    "layout or fusion": "cyan",
    "a bug": "bold red",
    "not attributed": "yellow",
}
LETTERS = {"legacy": "L", "simplified": "S", "jax-legacy": "jL", "jax-simplified": "jS"}


def console() -> Console:
    """Return the console that everything is printed on.

    A pipe has no width, and the 80 columns that rich assumes would fold the table into shreds. Nor
    has one that is to be coloured, by FORCE_COLOR, which rich takes for a terminal.
    """
    known = sys.stdout.isatty() or "COLUMNS" in os.environ
    return Console() if known else Console(width=140)


@contextmanager
def progress(console: Console) -> Iterator[Advance]:
    """Show a progress bar, or a plain line at every tenth where the console is no terminal."""
    if not (console.is_terminal and console.file.isatty()):
        yield _plain(console)
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("loading the programs", total=None)

        def advance(done: int, total: int, text: str) -> None:
            bar.update(task, completed=done, total=total, description=escape(text[:60].ljust(60)))

        yield advance


def _plain(console: Console) -> Advance:
    def advance(done: int, total: int, text: str) -> None:
        if done and (done == total or done * 10 // total > (done - 1) * 10 // total):
            console.print(f"{done}/{total}", highlight=False)

    return advance


def print_campaign(console: Console, campaign: Campaign) -> None:
    """Print one row for each program, the reasons where it is not parity, and the totals."""
    table = Table(title=_title(campaign), title_justify="left", pad_edge=False)
    table.add_column("program", overflow="fold")
    table.add_column("verdict", no_wrap=True)
    table.add_column("flip")
    table.add_column("outputs", no_wrap=True)
    shown = _metrics_shown()
    for _, column in shown:
        table.add_column(column.title, justify="right")
    for row in campaign.programs:
        table.add_row(
            escape(row.name),
            f"[{STYLES[row.verdict]}]{row.verdict}[/]",
            f"[{FLIP_STYLES[row.flip.outcome]}]{row.flip.outcome}[/]" if row.flip else "-",
            _rungs(row),
            *(_figures(row, metric, column) for metric, column in shown),
        )
    console.print(table)
    for row in campaign.programs:
        if row.verdict != "parity":
            console.print(f"[{STYLES[row.verdict]}]{row.verdict}[/] {escape(row.name)}", end=" ")
            console.print(f"({row.source})", highlight=False, markup=False, soft_wrap=True)
            for reason in row.reasons:
                console.print(f"    {reason}", highlight=False, markup=False, soft_wrap=True)
    for row in campaign.programs:
        if row.flip is not None and row.flip.outcome == "different":
            console.print(f"[{FLIP_STYLES['different']}]flip: different[/] {escape(row.name)}")
            print_flip(console, row.flip)
    _print_drift(console, campaign)
    _print_times(console, campaign)
    totals: Counter[str] = Counter(row.verdict for row in campaign.programs)
    texts = (
        f"[{STYLES[verdict]}]{totals[verdict]} {verdict}[/]"
        for verdict in STYLES
        if totals[verdict] or verdict != "not repeatable"  # rare, so it is named where it occurs
    )
    programs = counted(len(campaign.programs), "program")
    console.print(f"{programs}: " + ", ".join(texts), highlight=False)
    flips: Counter[str] = Counter(row.flip.outcome for row in campaign.programs if row.flip)
    if flips:
        texts = (f"[{FLIP_STYLES[o]}]{flips[o]} {o}[/]" for o in FLIP_OUTCOMES if flips[o])
        console.print("the flip: " + "; ".join(texts), highlight=False)


def print_flip(console: Console, flip: FlipVerdict) -> None:
    """Print the reasons of a flip verdict, with the lines they are about and what helps."""
    for reason in flip.reasons:
        at = f"{reason.where}: " if reason.where else ""
        console.print(f"    {at}{reason.what}", highlight=False, markup=False, soft_wrap=True)
        if reason.action:
            console.print(
                f"      -> {reason.action}", highlight=False, markup=False, soft_wrap=True
            )


def _print_drift(console: Console, campaign: Campaign) -> None:
    """Print the cause of each difference that was attributed, and the line that it begins at."""
    for row in campaign.programs:
        for each in row.drift:
            console.print(
                f"[{DRIFT_STYLES[each.cause]}]drift: {each.cause}[/] {escape(row.name)} "
                f"({each.left} and {each.right})",
                highlight=False,
            )
            at = f"{place(each.file, each.line)}: " if each.file else ""
            first = f"{each.equation}: " if each.equation else ""
            console.print(
                f"    {at}{first}{each.evidence}", highlight=False, markup=False, soft_wrap=True
            )


def _print_times(console: Console, campaign: Campaign) -> None:
    """Print, where times were judged, how many programs got each verdict, and the alarms."""
    judged = [(row, each) for row in campaign.programs for each in row.times]
    if not judged:
        return
    table = Table(title="times, right against left", title_justify="left", pad_edge=False)
    for column in ("metric", "left", "right"):
        table.add_column(column, no_wrap=True)
    for column in ("margin", *TIME_VERDICTS):
        table.add_column(column, justify="right")
    for metric, left, right in dict.fromkeys((t.metric, t.left, t.right) for _, t in judged):
        these = [t for _, t in judged if (t.metric, t.left, t.right) == (metric, left, right)]
        counts = Counter(each.verdict for each in these)
        table.add_row(
            metric, left, right, f"{these[0].margin:.0%}", *(str(counts[v]) for v in TIME_VERDICTS)
        )
    console.print(table)
    for row, each in judged:
        if each.verdict in ("slower", "faster"):
            console.print(
                f"{each.right} is {each.verdict} than {each.left} in {each.metric} of {row.name}: "
                f"{each.ratio:.2f} times ({each.low:.2f} to {each.high:.2f})",
                highlight=False, markup=False, soft_wrap=True,
            )  # fmt: skip


def print_grid(console: Console, grid: Mapping[str, Mapping[str, str]]) -> None:
    """Print verdicts by construct and transformation."""
    table = Table(title="construct, and transformation", title_justify="left", pad_edge=False)
    for column in ("", *next(iter(grid.values()))):
        table.add_column(column)
    for construct, cells in grid.items():
        texts = (f"[{STYLES.get(cell, 'dim')}]{cell}[/]" for cell in cells.values())
        table.add_row(escape(construct), *texts)
    console.print(table)


def _title(campaign: Campaign) -> str:
    e = campaign.environment
    return f"{', '.join(campaign.sides)} on jax {e.jax}, {e.device_kind}"


def _rungs(row: ProgramRow) -> str:
    """Name the rung of each pair that was compared, in one word where they agree."""
    rungs = {
        f"{LETTERS[each.left]}-{LETTERS[each.right]}": worst_rung(each.leaves)
        for each in row.comparisons
        if each.metric == "outputs" and each.outcome in ("equal", "different")
    }
    if len(set(rungs.values())) <= 1:
        return next(iter(rungs.values()), "-")
    return "\n".join(f"{pair} {rung}" for pair, rung in rungs.items())


def _observation(row: ProgramRow, sides: tuple[Side, ...]) -> Observation | None:
    by_side = {each.side: each for each in row.observations}
    return next((by_side[side] for side in sides if side in by_side), None)


def _metrics_shown() -> list[tuple[Metric, TerminalColumn]]:
    shown = ((metric, metric.terminal) for metric in metrics.METRICS if metric.terminal)
    return sorted(shown, key=lambda each: each[1].place)


def _figures(row: ProgramRow, metric: Metric, column: TerminalColumn) -> str:
    """Write a figure for each group of sides, of the first of them that was run."""
    if not column.groups:
        measured = (metric.read(each) for each in row.observations)
        return next((str(value) for value in measured if value is not None), "-")
    seen = [_observation(row, group) for group in column.groups]
    values = [metric.read(each) if each else None for each in seen]
    return " / ".join("-" if value is None else f"{value:,}" for value in values)
