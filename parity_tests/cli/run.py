"""The command `constparity run`: what it asks, prints, and exits with."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from parity_tests.cli.campaign import conclude, run_campaign
from parity_tests.cli.options import (
    ALL_SIDES,
    AttributionTimeout,
    ExitZero,
    FailOn,
    ProgramTimeout,
    Report,
    Resume,
    Sides,
    parse_fail_on,
    parse_sides,
)
from parity_tests.cli.report_option import check_saving, checked_reports


def run(
    context: typer.Context,
    targets: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[TARGET]...",
            help="package.module:name, path/to/file.py:name (or ::name), or a module, file or "
            "directory for every program in it. Without targets, the built-in corpus.",
            show_default=False,
        ),
    ] = None,
    sides: Sides = ALL_SIDES,
    report: Report = None,
    timeout: ProgramTimeout = 120.0,
    resume: Resume = None,
    rounds: Annotated[
        int,
        typer.Option(
            min=0,
            metavar="N",
            help="Judge times: N rounds of fresh processes, each side twice in a round. 5 are "
            "enough for a verdict; without rounds only what is beyond doubt is judged.",
        ),
    ] = 0,
    save: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Save the results, as in A.json, and their arrays beside it, for `compare`.",
            show_default=False,
        ),
    ] = None,
    no_times: Annotated[
        bool,
        typer.Option("--no-times", help="Do not call programs again and again to time them."),
    ] = False,
    fresh: Annotated[
        bool,
        typer.Option(
            "--fresh", help="A process for each program: the peaks of host memory are its own."
        ),
    ] = False,
    reload: Annotated[
        bool,
        typer.Option(
            "--reload",
            help="Also export each program and read it back, and reload it from a cache.",
        ),
    ] = False,
    memory_limit: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="MIB",
            help="Give a program up on a side where its process grows beyond this.",
            show_default=False,
        ),
    ] = None,
    no_attribution: Annotated[
        bool,
        typer.Option(
            "--no-attribution",
            help="Do not run programs again to find out why outputs are not bitwise equal.",
        ),
    ] = False,
    attribution_timeout: AttributionTimeout = 60.0,
    fail_on: FailOn = None,
    exit_zero: ExitZero = False,
) -> None:
    """Run programs on every side and compare them.

    Examples:

      constparity run                                     the built-in corpus

      constparity run my_model.py:step                    one program

      constparity run my_package.programs --sides jax-legacy,jax-simplified

      constparity run --report html:report.html --report json:report.json --exit-zero
    """
    from parity_tests.campaign.options import CampaignOptions
    from parity_tests.processes.options import STEADY_CALLS

    chosen, rules = parse_sides(sides), parse_fail_on(fail_on)
    if save is not None:
        check_saving(context, save, report or ())
    requests = checked_reports(context, report or ())
    options = CampaignOptions(
        sides=chosen,
        timeout=timeout,
        memory_limit=memory_limit * 2**20 if memory_limit else None,
        resume=resume,
        rounds=rounds,
        save=save,
        steady_calls=0 if no_times else STEADY_CALLS,
        fresh=fresh,
        reload=reload,
        attribute=not no_attribution,
        attribution_timeout=attribution_timeout,
    )
    result = run_campaign(context, targets or (), options)
    if result is not None:
        conclude(context, result, requests, rules, exit_zero)
