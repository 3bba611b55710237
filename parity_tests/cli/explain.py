"""The command `constparity explain`: what it asks, prints, and exits with."""

from __future__ import annotations

from typing import Annotated

import typer

from parity_tests.cli.display import Display
from parity_tests.cli.options import (
    Jobs,
    Judging,
    ProgramTimeout,
    Reporting,
    Sides,
    parse_sides,
)
from parity_tests.cli.python_option import OnePython, interpreters
from parity_tests.cli.run_programs import Ending, exit_by_rules, run_programs, start_early
from parity_tests.cli.selecting import (
    Choosing,
    ListOnly,
    list_programs,
)


def explain(
    context: typer.Context,
    targets: Annotated[
        list[str],
        typer.Argument(metavar="TARGET...", help="As for `run`."),
    ],
    sides: Sides = None,
    python: OnePython = None,
    *,
    choosing: Choosing,
    list_only: ListOnly = False,
    timeout: ProgramTimeout = 120.0,
    jobs: Jobs = None,
    reporting: Annotated[Reporting, ("json",)],
    display: Display,
    judging: Judging,
) -> None:
    """Print what each program captured, what became of it on each side, and what a flip may change.

    A hazard is possible and not certain. The exit status is that of `run`.

    Examples:

      constparity explain my_model.py:step

      constparity explain my_package.programs --sides jax-legacy,jax-simplified
    """
    if not (list_only or python or jobs):
        start_early(context, sides)
    from parity_tests.cli import explain_view
    from parity_tests.cli.report_option import write_reports
    from parity_tests.run.options import CampaignOptions

    on_sides, chosen = parse_sides(sides), choosing.choose(targets)
    where = next(iter(interpreters([python] if python else ())), None)
    if list_only:
        list_programs(context, display.console(), chosen, timeout, where)
        return
    requests = reporting.requests(context)
    options = CampaignOptions(
        sides=on_sides,
        python=where,
        timeout=timeout,
        steady_calls=0,
        processes=jobs,
        attribute=True,
    )
    result = run_programs(context, chosen, options, display)
    if result is not None:
        console = display.console()
        explain_view.print_explanation(console, result, details=display.details)
        write_reports(context, console, requests, result, judging.rules)
        exit_by_rules(Ending(context, display, requests, judging), result)
