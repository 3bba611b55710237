"""The command `constparity tune`: its options, its output and its exit status."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from parity_tests.cli.display import BriefDisplay
from parity_tests.cli.exit_codes import check_engine_runs
from parity_tests.cli.experiments import FIGURE_COLUMNS, ask_with_progress, figure_cells
from parity_tests.cli.options import OneTarget, Reporting
from reports.kinds import formats_of

if TYPE_CHECKING:
    from rich.console import Console

    from reports.rows.experiments import TunePoint, Tuning


def tune(
    context: typer.Context,
    target: OneTarget,
    samples: Annotated[
        int,
        typer.Option(min=1, metavar="N", help="Times are medians of N, of calls of 4 N or more."),
    ] = 5,
    compile_factor: Annotated[
        float,
        typer.Option(
            min=1.0,
            metavar="R",
            help="Compiling may take R times as long as with all hoisted.",
        ),
    ] = 2.0,
    most_bytes: Annotated[
        int, typer.Option(min=0, metavar="BYTES", help="Inline no array that is larger.")
    ] = 64 * 2**20,
    most_arrays: Annotated[
        int, typer.Option(min=1, metavar="N", help="Try no more arrays than these, the largest.")
    ] = 32,
    timeout: Annotated[
        float, typer.Option(min=0.1, metavar="SECONDS", help="For the whole search.")
    ] = 600.0,
    *,
    reporting: Annotated[Reporting, formats_of("tuning")],
    display: BriefDisplay,
) -> None:
    """Propose a constant policy for a program: which captured arrays to inline for faster calls.

    Starts with all arrays hoisted, and inlines one after the other as long as a call gets faster by
    more than 5 % and the noise, and compiling does not take too long. A preamble, and "hoist
    everything", are answers, too. No proposal's call takes 3 times as long as another row's.

    Examples:

      constparity tune my_model.py:step

      constparity tune my_model.py:step --compile-factor 3 --report svg:curve.svg
    """
    from parity_tests.cli.report_option import write_reports
    from parity_tests.experiments import in_worker
    from parity_tests.processes.protocol import TunePolicy
    from parity_tests.targets import check_names_one
    from reports.rows.experiments import TuneQuestion

    check_engine_runs("tune")
    check_names_one(target)
    question = TuneQuestion(
        samples=samples,
        compile_factor=compile_factor,
        most_bytes=most_bytes,
        most_arrays=most_arrays,
    )
    request = TunePolicy(target=target, question=question)
    requests = reporting.requests(context)
    found = ask_with_progress(
        context,
        display,
        lambda shown: in_worker.answer(target, request, timeout=timeout, progress=shown),
        to="measure",
    )
    if found is None:
        return
    console = display.console()
    print_tuning(console, found)
    write_reports(context, console, requests, found)


def print_tuning(console: Console, found: Tuning) -> None:
    """Print the figures, the outcome of each array, and the proposal as Python."""
    from rich.markup import escape
    from rich.table import Table

    from parity_tests.cli.terminal import say
    from reports.views.figures import humanise_seconds
    from reports.views.texts import counted

    table = Table(
        title=escape(f"{found.program} ({found.source})"), title_justify="left", pad_edge=False
    )
    table.add_column("inlined", overflow="fold")
    for column in ("bytes of\narrays", *FIGURE_COLUMNS, "compile", "call"):
        table.add_column(column, justify="right")
    for point, name in zip(found.points, names_of_points(found), strict=True):
        times = map(humanise_seconds, (point.first_seconds, point.call_seconds))
        table.add_row(escape(name), f"{point.array_bytes:,}", *figure_cells(point), *times)
    console.print(table)
    for each in found.arrays:
        where = f"{each.file}:{each.line} ({each.function})" if each.file else "only returned"
        several = f"; {counted(each.count, 'array')} that no key tells apart" * (each.count > 1)
        what = f"{each.outcome}: {each.key}, {each.bytes:,} bytes"
        say(console, f"{what}, {where}{several}")
    say(console, f"proposed: {found.reason}")
    say(console, as_python(found))


def names_of_points(found: Tuning) -> list[str]:
    """Name each point by the arrays that it inlines; a point of the path by those that it adds."""
    names, before = [], frozenset[str]()
    for point in found.points:
        if point.kind == "path":
            names.append(" ".join(f"+ {key}" for key in point.inlined if key not in before))
            before = frozenset(point.inlined)
        else:
            names.append(_name(point))
    return names


def _name(point: TunePoint) -> str:
    if point.kind == "alone":
        return f"{point.inlined[0]} alone"
    if point.kind == "preamble":
        return "nothing; a preamble"
    return "nothing" if point.kind == "all hoisted" else "all that may be"


def as_python(found: Tuning) -> str:
    """Write the proposal as Python that can be pasted.

    Example::

        as_python(found) == 'engine.jit(f, constants="simplified", constant_policy={...})'
    """
    entries = "".join(f"    {key!r}: {choice!r},\n" for key, choice in found.proposal.items())
    policy = f", constant_policy={{\n{entries}}}" if entries else ""
    preamble = ', precompute_constants="auto"' if found.precompute_constants == "auto" else ""
    return f'engine.jit(f, constants="simplified"{preamble}{policy})'
