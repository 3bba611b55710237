"""The command `constparity run`: what it asks, prints, and exits with."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from parity_tests.cli.campaign import conclude, remember_failed, run_campaign, start_early
from parity_tests.cli.display import NoColor, Quiet, Verbose, display_of
from parity_tests.cli.jax_option import JaxVersions, WithPackages, pythons_of
from parity_tests.cli.option_panels import HOW, OUTPUT
from parity_tests.cli.options import (
    AttributionTimeout,
    ExitZero,
    FailOn,
    Jobs,
    NoAttribution,
    ProgramTimeout,
    Report,
    ReportUrl,
    Resume,
    Sides,
    Targets,
    parse_fail_on,
    parse_sides,
)
from parity_tests.cli.python_option import Python, interpreters
from parity_tests.cli.report_option import check_for_versions, check_saving, checked_reports
from parity_tests.cli.run_versions import check_saving_each, run_on_versions
from parity_tests.cli.selecting import (
    Expression,
    LastFailed,
    ListOnly,
    Tags,
    chosen_programs,
    list_programs,
)
from parity_tests.cli.store_option import RunStore, check_store_option

if TYPE_CHECKING:
    from reports.rows import ProgramRow


def run(
    context: typer.Context,
    targets: Targets = None,
    sides: Sides = None,
    python: Python = None,
    jax: JaxVersions = None,
    with_: WithPackages = None,
    expression: Expression = "",
    tag: Tags = None,
    last_failed: LastFailed = False,
    list_only: ListOnly = False,
    timeout: ProgramTimeout = 120.0,
    jobs: Jobs = None,
    exit_first: Annotated[
        bool,
        typer.Option(
            "-x",
            help="Stop after the first program that breaks a rule of --fail-on. All sides run at "
            "once, unless --jobs says otherwise.",
            rich_help_panel=HOW,
        ),
    ] = False,
    resume: Resume = None,
    rounds: Annotated[
        int,
        typer.Option(
            min=0,
            metavar="N",
            help="Judge times: N rounds of fresh processes, each side twice in a round. 5 are "
            "enough for a verdict; without rounds only what is beyond doubt is judged.",
            rich_help_panel=HOW,
        ),
    ] = 0,
    no_times: Annotated[
        bool,
        typer.Option(
            "--no-times",
            help="Do not call programs again and again to time them.",
            rich_help_panel=HOW,
        ),
    ] = False,
    fresh: Annotated[
        bool,
        typer.Option(
            "--fresh",
            help="A process for each program: the peaks of host memory are its own.",
            rich_help_panel=HOW,
        ),
    ] = False,
    reload: Annotated[
        bool,
        typer.Option(
            "--reload",
            help="Also export each program and read it back, and reload it from a cache.",
            rich_help_panel=HOW,
        ),
    ] = False,
    memory_limit: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="MIB",
            help="Give a program up on a side where its process grows beyond this.",
            show_default=False,
            rich_help_panel=HOW,
        ),
    ] = None,
    no_attribution: NoAttribution = False,
    attribution_timeout: AttributionTimeout = 60.0,
    report: Report = None,
    report_url: ReportUrl = None,
    save: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Save the results, as in A.json, and their arrays beside it, for `compare`.",
            show_default=False,
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    store: RunStore = None,
    machine: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="What --store calls this machine. Times of two names are not compared.",
            show_default="the name of the host",
            rich_help_panel=OUTPUT,
        ),
    ] = "",
    quiet: Quiet = False,
    verbose: Verbose = False,
    no_color: NoColor = False,
    fail_on: FailOn = None,
    exit_zero: ExitZero = False,
) -> None:
    """Run programs on every side and compare them.

    Examples:

      constparity run                                     the built-in corpus

      constparity run my_model.py:step                    one program

      constparity run my_package.programs --sides jax-legacy,jax-simplified

      constparity run my_package.programs -k "scan and not grad" --last-failed -x -q

      constparity run my_model.py --jax 0.12 --with flax  in an environment of JAX 0.12

      constparity run my_model.py --python ~/jax-0.10/bin/python --python ~/jax-0.12/bin/python

      constparity run my_model.py --store runs.db         kept for `constparity history`

      constparity run --report html:report.html --report json:report.json --exit-zero
    """
    # Before any import that takes time. With --jobs, no more processes than it says are alive.
    if not (list_only or python or jax or with_ or resume or jobs):
        start_early(context, sides)
    from parity_tests.campaign.options import CampaignOptions
    from parity_tests.processes.options import STEADY_CALLS

    display = display_of(quiet, verbose, no_color)
    on_sides, rules = parse_sides(sides), parse_fail_on(fail_on)
    chosen = chosen_programs(targets or (), expression, tag, last_failed)
    requests = [] if list_only else checked_reports(context, report or (), link=report_url or "")
    given = interpreters(python or (), reload=reload)
    made = pythons_of(context, jax, with_)
    if made is None:
        return
    pythons = [*given, *interpreters(made, reload=reload)]
    if len(pythons) > 1:
        check_for_versions(requests)
    first = pythons[0] if pythons else None
    if list_only:
        list_programs(context, display.console(), chosen, timeout, first)
        return
    if save is not None and len(pythons) > 1:
        check_saving_each(context, save, pythons, report or ())
    elif save is not None:
        check_saving(context, save, report or ())
    if store is not None:
        check_store_option(store)
    options = CampaignOptions(
        sides=on_sides,
        python=first,
        timeout=timeout,
        memory_limit=memory_limit * 2**20 if memory_limit else None,
        processes=jobs,
        resume=resume,
        rounds=rounds,
        save=save,
        store=store,
        machine=machine,
        steady_calls=0 if no_times else STEADY_CALLS,
        fresh=fresh,
        reload=reload,
        attribute=not no_attribution,
        attribution_timeout=attribution_timeout,
    )

    def is_last(row: ProgramRow) -> bool:
        return any(rule.is_broken_by(row) for rule in rules)

    stops_after = is_last if exit_first else None
    if len(pythons) > 1:
        run_on_versions(
            context,
            chosen,
            options,
            pythons,
            display,
            requests,
            rules,
            exit_zero=exit_zero,
            stops_after=stops_after,
        )
        return
    result = run_campaign(context, chosen, options, display, stops_after=stops_after)
    if result is not None:
        remember_failed(result, conclude(context, result, requests, rules, exit_zero, display))
