"""The command `constparity sweep`: its options, its output and its exit status."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from parity_tests.cli.display import BriefDisplay
from parity_tests.cli.exit_codes import Exit, check_engine_runs, complain, fail
from parity_tests.cli.experiments import FIGURE_COLUMNS, ask_with_progress, figure_cells
from parity_tests.cli.options import OneTarget, Reporting
from reports.kinds import formats_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from reports import ReportRequest
    from reports.rows.experiments import Sweep


def sweep(
    context: typer.Context,
    target: OneTarget,
    thresholds: Annotated[
        str, typer.Option(metavar="BYTES,...", help="The embed thresholds, in bytes.")
    ] = "0,32,1024,32768,1048576",
    samples: Annotated[
        int, typer.Option(min=1, metavar="N", help="Times are medians of N, of calls of 4 N.")
    ] = 5,
    into: Annotated[
        Path | None,
        typer.Option(
            metavar="RESULT.json",
            help="Add the sweep to the JSON report of a run; its HTML and Markdown then have it.",
        ),
    ] = None,
    timeout: Annotated[
        float, typer.Option(min=0.1, metavar="SECONDS", help="For the whole sweep.")
    ] = 600.0,
    *,
    reporting: Annotated[Reporting, formats_of("sweep")],
    display: BriefDisplay,
) -> None:
    """Measure a program under several embed thresholds, and recommend one.

    Of the thresholds under which compiling takes at most 10 % longer than under the smallest, the
    smallest whose call is within 5 % of their fastest; noisier measurements widen both. A preamble
    is measured beside them. What is recommended has no call 3 times as slow as another row.

    Examples:

      constparity sweep my_model.py:step

      constparity sweep my_model.py:step --thresholds 0,32,4096 --json

      constparity run my_model.py --report json:result.json

      constparity sweep my_model.py:step --into result.json

      constparity report result.json --report html:report.html
    """
    from parity_tests.cli.report_option import write_reports
    from parity_tests.experiments import in_worker
    from parity_tests.processes.protocol import SweepThreshold
    from parity_tests.targets import check_names_one
    from reports.rows.experiments import SweepQuestion

    check_engine_runs("sweep")
    check_names_one(target)
    question = SweepQuestion(thresholds=_parse_thresholds(thresholds), samples=samples)
    request = SweepThreshold(target=target, question=question)
    requests = reporting.requests(context)
    if into is not None:
        _check_result(into, target, requests)
    swept = ask_with_progress(
        context,
        display,
        lambda shown: in_worker.answer(target, request, timeout=timeout, progress=shown),
        to="measure",
    )
    if swept is None:
        return
    console = display.console()
    print_sweep(console, swept)
    write_reports(context, console, requests, swept)
    if into is not None:
        _add_to_result(context, console, into, swept)


def _check_result(into: Path, target: str, requests: Sequence[ReportRequest]) -> None:
    """Make sure, before minutes of measuring, that a sweep can be added to a result."""
    import reports
    from parity_tests.evidence.saved import archive_of

    if any(each.path and each.path.resolve() == into.resolve() for each in requests):
        fail(f"--report would replace the result {into}; give it another path")
    try:
        campaign = reports.load_campaign(into)
        reports.check_writable(into)
    except (reports.ReportReadError, reports.ReportPathError) as error:
        fail(str(error))
    if archive_of(into).exists():
        fail(
            f"{into} was saved with arrays, which would not fit it any more; make a result to add "
            f"to with constparity report {into} --report json:result.json"
        )
    known = {name for row in campaign.programs for name in (row.name, _name_in(row.target))}
    if ":" in target and _name_in(target) not in known:
        fail(f"{into} has no program {_name_in(target)!r}; run it with --report json:{into} first")


def _name_in(target: str) -> str:
    return target.rpartition(":")[2]


def _add_to_result(context: typer.Context, console: Console, into: Path, swept: Sweep) -> None:
    """Add a sweep to a result as it is by now; the file stays as it is where that fails."""
    import reports
    from parity_tests.cli.terminal import say
    from reports.rows.campaign import SweepRefusedError

    try:
        campaign = reports.load_campaign(into).with_sweep(swept)
        reports.write_atomically(into, reports.render_report("json", campaign))
    except SweepRefusedError as error:
        fail(f"{into} does not take the sweep: {error}; run the program again for a new result")
    except (reports.ReportReadError, reports.ReportPathError) as error:
        complain(str(error))
        context.obj.code = Exit.INTERNAL_ERROR
    else:
        say(console, f"added to: {into}")


def print_sweep(console: Console, swept: Sweep) -> None:
    """Print one line for each threshold, and the recommendation with its reason."""
    from rich.markup import escape
    from rich.table import Table

    from parity_tests.cli.terminal import say

    title = escape(f"{swept.program} ({swept.source})")
    table = Table(title=title, title_justify="left", pad_edge=False)
    for column in ("threshold", *FIGURE_COLUMNS, "compile\nms", "call\nms", "dispatch\nms"):
        table.add_column(column, justify="right")
    for point in (*swept.points, *([swept.preamble] if swept.preamble else [])):
        name, mark = f"{point.threshold:,}", " *" if point.threshold == swept.recommended else ""
        if point is swept.preamble:
            name = f"{name}, preamble"
            mark = " *" if swept.precompute_constants == "auto" else ""
        seconds = (point.compile_seconds, point.call_seconds, point.dispatch_seconds)
        times = (f"{1e3 * each:.3g}" for each in seconds)
        table.add_row(f"{name}{mark}", *figure_cells(point), *times)
    console.print(table)
    chosen = "" if swept.recommended is None else f"{swept.recommended}: "
    if swept.precompute_constants == "auto":
        chosen = 'precompute_constants="auto": '
    say(console, f"recommended: {chosen}{swept.reason}")


def _parse_thresholds(text: str) -> tuple[int, ...]:
    parts = [part.strip() for part in text.split(",") if part.strip()]
    if not parts or not all(part.isdecimal() for part in parts):
        fail(f"--thresholds must be numbers of bytes separated by commas, got {text!r}")
    return tuple(int(part) for part in parts)
