"""The command `constparity prove`: what it asks, prints, and exits with."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from parity_tests.cli.completion import PLATFORMS, one_of, rules
from parity_tests.cli.display import Display
from parity_tests.cli.exit_codes import nothing_collected
from parity_tests.cli.options import (
    EXIT_STATUS,
    HOW,
    RARE,
    ExitZero,
    Jobs,
    JudgingProofs,
    ProgramTimeout,
    Reporting,
    Sides,
    Targets,
    parse_sides,
)
from parity_tests.cli.python_option import OnePython, interpreters
from parity_tests.cli.report_option import write_reports
from parity_tests.cli.run_programs import Ending, exit_by, print_broken, start_early
from parity_tests.cli.selecting import Choosing, ListOnly, list_programs

if TYPE_CHECKING:
    from rich.console import Console

    from reports.rows.proofs import Proofs


def prove(
    context: typer.Context,
    targets: Targets = None,
    *,
    choosing: Choosing,
    python: OnePython = None,
    sides: Sides = "jax-legacy,jax-simplified",
    list_only: ListOnly = False,
    platforms: Annotated[
        str | None,
        typer.Option(
            metavar="NAMES",
            autocompletion=one_of(lambda: PLATFORMS, behind=","),
            help="Lower for these as well, as in cuda,tpu; no device is needed.",
            rich_help_panel=HOW,
        ),
    ] = None,
    jobs: Jobs = None,
    timeout: ProgramTimeout = 120.0,
    numbers: Annotated[
        bool,
        typer.Option(
            "--numbers",
            help="Print a line for each program, separated by tabs: its name and the digests of "
            "its two forms, undecided where it is, and - where it failed.",
            rich_help_panel=RARE,
        ),
    ] = False,
    reporting: Reporting,
    fail_on: Annotated[
        str | None,
        typer.Option(
            metavar="RULES",
            autocompletion=one_of(rules, behind=","),
            help="What to exit with 1 or 2 for, as hazard:donated: different and new-failure "
            "(1, where refuted), not-compared, not-proved:parted, not-proved:undecided, hazard, "
            "hazard:donated, placement (2). Default: "
            "fail-on of [tool.constparity] in pyproject.toml, else "
            "different,new-failure,not-compared,hazard.",
            rich_help_panel=EXIT_STATUS,
        ),
    ] = None,
    exit_zero: ExitZero = False,
    display: Display,
) -> None:
    """Prove that both forms of each program are one computation, without compiling or running it.

    A proof holds for all arguments. What may break a program all the same is told beside it, as
    that a captured array is overwritten later. Modules that are written apart are evaluated by
    StableHLO's reference interpreter: other bits refute them. Exits with 0 where all programs are
    proved and none may break, with 1 where one is refuted, and else with 2.

    Examples:

      constparity prove my_model.py

      constparity prove my_model.py --platforms cuda,tpu

      constparity prove my_package.programs --numbers > digests.tsv
    """
    if not (list_only or python or jobs):  # before any import that takes time
        start_early(context, sides)
    from parity_tests.run.options import CampaignOptions
    from parity_tests.run.proving import prove as proved
    from reports.rows.fail_rules import broken

    judging = JudgingProofs(fail_on, exit_zero)
    on_sides, chosen = parse_sides(sides), choosing.choose(targets or ())
    if len(on_sides) != 2:
        raise typer.BadParameter(f"a proof has two sides, got {sides!r}")
    named = tuple(filter(None, map(str.strip, (platforms or "").split(","))))
    if wrong := [each for each in named if each not in PLATFORMS]:
        legal = ", ".join(PLATFORMS)
        raise typer.BadParameter(f"--platforms: no platform {wrong[0]!r}; they are {legal}")
    requests = reporting.requests(context, of_proofs=True)
    where = next(iter(interpreters([python] if python else ())), None)
    if list_only:
        list_programs(context, display.console(), chosen, timeout, where)
        return
    options = CampaignOptions(
        sides=on_sides, python=where, timeout=timeout, processes=jobs, select=chosen.select,
        platforms=named,
    )  # fmt: skip
    with display.progress(first="loading the programs") as shown:
        proofs = proved(chosen.targets, options, progress=shown)
    if not proofs.programs:
        nothing_collected(context, chosen.named)
        return
    console = display.console()
    if numbers:
        _print_numbers(proofs)
    else:
        print_proofs(console, proofs, details=display.details)
    found = broken(proofs, judging.rules)
    write_reports(context, console, requests, proofs, judging.rules)
    if not numbers:
        print_broken(console, found)
    exit_by(Ending(context, display, requests, judging), found)


def print_proofs(console: Console, proofs: Proofs, *, details: int = 1) -> None:
    """Print the answer and the programs that are not proved or may break, with details why."""
    from parity_tests.cli import terminal
    from reports.documents.proofs import is_told, state_of
    from reports.rows.proofs import reasons_of

    terminal.say(console, proofs.headline, style="bold")
    told: set[tuple[str, ...]] = set()
    for program in proofs.programs:
        if is_told(program):
            terminal.say(console, f"{terminal.on_one_line(program.name)}: {state_of(program)}")
            for reason in reasons_of(program, told) if details else ():
                terminal.say(console, f"    {reason}")
            terminal.say_traceback(console, program.traceback)


def _print_numbers(proofs: Proofs) -> None:
    """Print the digests of jaxprs, or of modules where jaxprs are undecided.

    An undecided program has none: the digest of its module may lack what it is undecided for.
    """
    from parity_tests.cli.terminal import on_one_line

    for program in proofs.programs:
        known = [each for each in program.claims if each.before and each.after]
        if program.answer == "undecided":
            digests = ("undecided", "undecided")
        else:
            digests = (known[0].before, known[0].after) if known else ("-", "-")
        sys.stdout.write("\t".join((on_one_line(program.name), *digests)) + "\n")
