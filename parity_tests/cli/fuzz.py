"""The command `constparity fuzz`: what it asks, prints, and exits with."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Annotated

import typer

from parity_tests.cli.display import Display
from parity_tests.cli.exit_codes import fail
from parity_tests.cli.options import (
    OUTPUT,
    WHAT,
    FailOn,
    Judging,
    ProgramTimeout,
    Reporting,
    Sides,
    parse_sides,
)
from parity_tests.cli.report_option import write_reports
from parity_tests.cli.run_programs import Ending, exit_by_rules


def fuzz(
    context: typer.Context,
    programs: Annotated[
        int,
        typer.Option(
            min=1, metavar="N", help="How many programs to generate.", rich_help_panel=WHAT
        ),
    ] = 50,
    seed: Annotated[
        int,
        typer.Option(
            min=0, metavar="S", help="The same seed, the same programs.", rich_help_panel=WHAT
        ),
    ] = 0,
    sides: Sides = None,
    timeout: ProgramTimeout = 120.0,
    *,
    reporting: Reporting,
    keep: Annotated[
        Path,
        typer.Option(
            metavar="DIR",
            help="Where the programs are written; smaller ones, too, that fail or are not proved.",
            rich_help_panel=OUTPUT,
        ),
    ] = Path("constparity-fuzz"),
    display: Display,
    fail_on: FailOn = None,
) -> None:
    """Generate programs that capture arrays, and compare them on every side.

    A program that fails is made smaller and written to a file that runs by itself. One whose two
    forms are not proved one computation is named with the place where they part, and the first of
    each kind is made smaller, too. Programs that stock JAX refuses as well are counted, and left
    out. Exits as `constparity run` does.

    Examples:

      constparity fuzz --programs 200 --seed 7

      XLA_FLAGS=--xla_force_host_platform_device_count=2 constparity fuzz
    """
    import reports
    from parity_tests.cli import run_view
    from parity_tests.cli.terminal import say
    from reports.rows.fail_rules import broken
    from reports.rows.proofs import reason_of
    from reports.views.texts import counted

    if importlib.util.find_spec("hypothesis") is None:
        fail("generating programs needs hypothesis: install constparity[fuzz]")
    from parity_tests.fuzz import campaign as fuzzing

    chosen, judging = parse_sides(sides), Judging(fail_on)
    requests = reporting.requests(context)
    try:
        reports.check_writable(fuzzing.file_of(keep, seed))
    except OSError as error:
        fail(f"--keep {keep}: {error}")
    console = display.console()
    with display.progress(first="generating programs") as shown:
        fuzzed = fuzzing.run(
            programs, seed, sides=chosen, timeout=timeout, folder=keep, progress=shown
        )
    run_view.print_campaign(console, fuzzed.campaign, details=display.details)
    if fuzzed.refused:
        refused = counted(len(fuzzed.refused), "more program")
        console.print(f"{refused} that stock JAX refuses as well", highlight=False)
    for name, claims in fuzzed.apart.items():
        for claim in (each for each in claims if each.answer != "proved"):
            said = f"{name}: {claim.of} {claim.answer}: {reason_of(claim)}"
            say(console, said)
    write_reports(context, console, requests, fuzzed.campaign, judging.rules)
    found = broken(fuzzed.campaign, judging.rules)
    # What is not proved is made smaller by its proof.
    failing = {each for one in found if one.rule.name != "not-proved" for each in one.programs}
    with display.progress(first="making programs smaller") as shown:
        smaller = list(fuzzing.keep(fuzzed, keep, failing=failing, timeout=timeout, progress=shown))
    for kept in smaller:
        console.print(f"kept: {kept.file}", highlight=False, soft_wrap=True)
    exit_by_rules(Ending(context, display, requests, judging), fuzzed.campaign)
