"""The command `constparity culprit`: its options, its output and its exit status."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, cast, get_args

import typer

from parity_tests.cli.display import BriefDisplay
from parity_tests.cli.exit_codes import Exit, check_engine_runs, code_of, fail
from parity_tests.cli.experiments import ask_with_progress
from parity_tests.cli.options import OneTarget, Reporting

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from reports.rows.experiments import CulpritFound


def culprit(
    context: typer.Context,
    target: OneTarget,
    metric: Annotated[
        str, typer.Option(metavar="NAME", help="What differs: outputs, compile, memory or call.")
    ] = "outputs",
    beyond: Annotated[
        str,
        typer.Option(
            metavar="RUNG",
            help="Outputs differ that are worse than this: bitwise, ulp or tolerance.",
        ),
    ] = "bitwise",
    factor: Annotated[
        float,
        typer.Option(
            min=1.0,
            metavar="F",
            help="Bytes and seconds differ by more than this factor.",
        ),
    ] = 1.5,
    samples: Annotated[int, typer.Option(min=1, metavar="N", help="Times are medians of N.")] = 5,
    timeout: Annotated[
        float, typer.Option(min=0.1, metavar="SECONDS", help="For the whole search.")
    ] = 600.0,
    exit_zero: Annotated[
        bool,
        typer.Option("--exit-zero", help="Exit with 0 whatever the verdict; errors still count."),
    ] = False,
    *,
    reporting: Annotated[Reporting, ("json",)],
    display: BriefDisplay,
) -> None:
    """Name the captured arrays that make a difference by being hoisted instead of inlined.

    The program is compared, in the simplified pipeline, with a variant of itself that inlines all
    arrays; a minimal set of arrays is found by delta debugging. Exits as `run` does.

    Examples:

      constparity culprit my_model.py:step

      constparity culprit my_model.py:step --metric memory --factor 1.1

      constparity culprit my_model.py:step --metric compile --samples 9
    """
    from parity_tests.cli.report_option import write_reports
    from parity_tests.experiments import in_worker
    from parity_tests.targets import check_names_one
    from reports.rows.experiments import Beyond, CulpritMetric, CulpritQuestion

    check_engine_runs("culprit")
    requests = reporting.requests(context)
    question = CulpritQuestion(
        metric=cast(CulpritMetric, _one_of("--metric", metric, get_args(CulpritMetric))),
        beyond=cast(Beyond, _one_of("--beyond", beyond, get_args(Beyond))),
        factor=factor,
        samples=samples,
    )
    check_names_one(target)
    found = ask_with_progress(
        context,
        display,
        lambda shown: in_worker.find_culprits(target, question, timeout=timeout, progress=shown),
        to="compare",
    )
    if found is None:
        return
    console = display.console()
    print_culprits(console, found)
    write_reports(context, console, requests, found)
    code = Exit.PARITY if exit_zero else code_of(found.verdict)
    context.obj.code = max(context.obj.code, code)


def _one_of(option: str, given: str, choices: Sequence[str]) -> str:
    if given not in choices:
        from parity_tests.suggestions import close

        *others, last = choices
        fail(f"{option} {given}: it is {', '.join(others)} or {last}{close(given, choices)}")
    return given


def print_culprits(console: Console, found: CulpritFound) -> None:
    """Print the verdict, its reasons, and each array that was found with its line."""
    from rich.markup import escape

    from parity_tests.cli.terminal import STYLES, say
    from reports.views.ledger import place
    from reports.views.texts import counted

    console.print(f"[{STYLES[found.verdict]}]{found.verdict}[/] {escape(found.program)}", end=" ")
    console.print(f"({found.source}): {_head(found)}", highlight=False, markup=False)
    for reason in found.reasons:
        say(console, f"    {reason}")
    if found.arrays:
        arrays = counted(found.candidates, "captured array")
        console.print(f"  hoisting {len(found.arrays)} of {arrays} is enough:", highlight=False)
    for each in found.arrays:
        where = f"{place(each.file, each.line)} ({each.function})"
        say(console, f"    {where}: {each.array}, {each.bytes:,} bytes")
    console.print(f"  {counted(found.variants, 'variant')} compared", highlight=False)


def _head(found: CulpritFound) -> str:
    """Say what differs: that a program fails is more than was asked."""
    question = found.question
    if found.fails:
        return "it works in legacy and fails in simplified"
    if question.metric == "outputs":
        return f"outputs beyond {question.beyond}"
    what = {"memory": "temporaries", "compile": "compile time", "call": "call time"}
    return f"{what[question.metric]}, {question.factor:g} times or more"
