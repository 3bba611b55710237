"""The command `constparity bench`: its options, its output and its exit status."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated

import typer

from parity_tests.cli.display import PlainDisplay
from parity_tests.cli.exit_codes import Exit, check_engine_runs, complain, fail, interrupted
from parity_tests.cli.options import Reporting
from reports.kinds import formats_of

if TYPE_CHECKING:
    from rich.console import Console

    from reports.rows.bench import Bench, BenchQuestion


def bench(
    context: typer.Context,
    rows: Annotated[
        str | None,
        typer.Option(metavar="N,...", help="The rows to measure; else all of them."),
    ] = None,
    rounds: Annotated[
        int,
        typer.Option(min=1, metavar="N", help="Of two turns each; intervals need 4 and more."),
    ] = 4,
    quick: Annotated[
        bool, typer.Option("--quick", help="Small sizes: to see that it runs, not for figures.")
    ] = False,
    full: Annotated[
        bool, typer.Option("--full", help="Also 10,000 equations and 1,000 closures.")
    ] = False,
    timeout: Annotated[
        float,
        typer.Option(
            min=0.1, metavar="SECONDS", help="From one measurement of a process to its next."
        ),
    ] = 1800.0,
    *,
    reporting: Annotated[Reporting, formats_of("bench")],
    display: PlainDisplay,
) -> None:
    """Measure what the engine costs beside stock JAX, each figure with its target.

    Five contestants run the same programs: legacy, simplified, jax-legacy, jax-simplified, and the
    manual way, constants as arguments of jax.jit. In each turn all have a fresh process, and these
    measure step by step, one at a time on one core. Ratios are taken turn by turn. Exits with 0
    whatever the figures are, and with 2 where a process failed; the turns before it are kept.

    Examples:

      constparity bench

      constparity bench --rows 1,3 --rounds 8 --json > bench.json
    """
    from parity_tests.bench import runner
    from parity_tests.cli import terminal
    from parity_tests.cli.report_option import write_reports
    from parity_tests.run.estimates import spoken
    from reports.rows.bench import BenchQuestion

    check_engine_runs("bench")
    if quick and full:
        fail("--quick and --full contradict each other: give one of them")
    requests = reporting.requests(context)
    question = BenchQuestion(
        rows=_parse_rows(rows),
        rounds=rounds,
        size="quick" if quick else "full" if full else "default",
    )
    console = display.console()
    turns: list[Bench] = []  # after each turn, the figures of all turns so far
    begun = time.monotonic()
    try:
        with terminal.progress(first="starting the contestants") as shown:
            shown.say(_by_rule(question))
            for found in runner.run(question, timeout=timeout, progress=shown):
                turns.append(found)
                if len(turns) == 1:
                    seconds, left = time.monotonic() - begun, 2 * rounds - 1
                    shown.say(
                        f"a turn took {spoken(seconds)}: {left} more will take "
                        f"{spoken(left * seconds)}"
                    )
    except runner.BenchError as error:
        complain(f"could not measure {error}")
        context.obj.code = Exit.COULD_NOT_COMPARE
    except KeyboardInterrupt:
        interrupted(context)
    if not turns:
        return
    if len(turns) < 2 * rounds:
        complain(f"the figures are of {len(turns)} of {2 * rounds} turns")
    print_bench(console, turns[-1])
    write_reports(context, console, requests, turns[-1])


def print_bench(console: Console, found: Bench) -> None:
    """Print one line for each figure, and how many targets are met."""
    from rich.markup import escape
    from rich.table import Table

    from reports.documents import bench as documents

    styles = {"met": "green", "missed": "bold red", "inconclusive": "yellow"}
    figures = documents.figures_of(found)
    table = Table(title="; ".join(documents.facts(found)), title_justify="left", pad_edge=False)
    for column in figures.columns:
        table.add_column(column.title, overflow="fold")
    for line, row in zip(found.lines, figures.rows, strict=True):
        table.add_row(
            *(escape(cell.text) for cell in row), style=styles.get(line.outcome or "", "")
        )
    console.print(table)
    console.print(documents.answer(found), highlight=False)


# What a row takes of a turn, on two busy cores: rows differ, and so do machines.
_SECONDS_OF_A_ROW = {"quick": 15, "default": 60, "full": 300}


def _by_rule(question: BenchQuestion) -> str:
    """Say how long the turns will take, before the first has shown it."""
    from parity_tests.run.estimates import spoken
    from reports.views.texts import counted

    turns, rows = 2 * question.rounds, len(question.rows)
    seconds = _SECONDS_OF_A_ROW[question.size]
    return (
        f"{counted(turns, 'turn')} will take {spoken(turns * rows * seconds)} by a rule: "
        f"{counted(rows, 'row')} in each, at {seconds} s"
    )


def _parse_rows(text: str | None) -> tuple[int, ...]:
    from parity_tests.bench.rows import ROWS

    if text is None:
        return tuple(ROWS)
    parts = [part.strip() for part in text.split(",") if part.strip()]
    names = {str(number): number for number in ROWS}
    for part in parts:
        if part not in names:
            fail(f"--rows has {part!r}, and the rows are {', '.join(names)}")
    if not parts:
        fail(f"--rows must be numbers separated by commas, got {text!r}")
    return tuple(dict.fromkeys(names[part] for part in parts))
