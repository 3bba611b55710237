"""The command `constparity aa`: its options, its output and its exit status."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from parity_tests.cli.completion import one_of, sides
from parity_tests.cli.display import Display
from parity_tests.cli.exit_codes import Exit, code_of, interrupted, nothing_collected
from parity_tests.cli.options import HOW, WHAT, Reporting, Resume, Targets
from parity_tests.cli.python_option import OnePython, interpreters
from parity_tests.cli.selecting import (
    Choosing,
    ListOnly,
    list_programs,
)

if TYPE_CHECKING:
    from parity_tests.run.self_comparison import SelfComparison


def aa(
    context: typer.Context,
    targets: Targets = None,
    side: Annotated[
        str,
        typer.Option(
            metavar="SIDE",
            autocompletion=one_of(sides),
            help="The side to compare with itself.",
            rich_help_panel=WHAT,
        ),
    ] = "jax-legacy",
    python: OnePython = None,
    *,
    choosing: Choosing,
    list_only: ListOnly = False,
    runs: Annotated[
        int,
        typer.Option(
            min=2, metavar="N", help="Times are judged from 16 runs on.", rich_help_panel=HOW
        ),
    ] = 20,
    resume: Resume = None,
    timeout: Annotated[
        float,
        typer.Option(
            min=0.1, metavar="SECONDS", help="For one program in one run.", rich_help_panel=HOW
        ),
    ] = 120.0,
    reporting: Reporting,
    display: Display,
) -> None:
    """Compare a side with itself (A/A): whatever is found is a false alarm of the tester.

    Outputs and counters of each run are compared with those of the first, and times as those of two
    sides. Exits with 1 where an output or a counter differs, or where more than 1 % of the verdicts
    on times are alarms or the alarms point one way.

    Examples:

      constparity aa                                 the built-in corpus, 20 times

      constparity aa my_model.py --side simplified --runs 4
    """
    from parity_tests.cli import run_view
    from parity_tests.cli.report_option import write_reports
    from parity_tests.run import self_comparison
    from parity_tests.run.options import CampaignOptions
    from reports.rows import SIDES
    from reports.rows.fail_rules import DEFAULT_RULES

    on_side = next((each for each in SIDES if each == side), None)
    if on_side is None:
        raise typer.BadParameter(f"no side {side!r}; the sides are {', '.join(SIDES)}")
    requests = reporting.requests(context)
    console = display.console()
    chosen = choosing.choose(targets or ())
    where = next(iter(interpreters([python] if python else ())), None)
    if list_only:
        list_programs(context, console, chosen, timeout, where)
        return
    try:
        with display.progress(first="loading the programs") as shown:
            found = self_comparison.run(
                chosen.targets,
                CampaignOptions(
                    sides=(on_side,),
                    timeout=timeout,
                    python=where,
                    resume=resume,
                    select=chosen.select,
                ),
                runs,
                progress=shown,
                announce=shown.say,
            )
    except KeyboardInterrupt:
        hint = "; the same command goes on from here" if resume else ""
        interrupted(context, hint)
        return
    if not found.campaign.programs:
        nothing_collected(context, chosen.named)
        return
    console.print(summary(found), highlight=False, soft_wrap=True)
    run_view.print_campaign(console, found.campaign, details=display.details)
    trusted = found.is_trustworthy or found.campaign.verdict != "parity"
    context.obj.code = code_of(found.campaign.verdict) if trusted else Exit.DIFFERENCE
    write_reports(context, console, requests, found.campaign, DEFAULT_RULES)


def summary(found: SelfComparison) -> str:
    """Count the alarms, in one line, and the verdicts that tell nothing."""
    from parity_tests.run.self_comparison import FEWEST_FOR_TIMES
    from reports.views.texts import counted

    apart = sum(row.verdict == "difference" for row in found.campaign.programs)
    text = (
        f"{counted(found.runs, 'run')} of {counted(len(found.campaign.programs), 'program')}: "
        f"{counted(apart, 'program')} with other outputs or counts"
    )
    if not found.times:
        return f"{text}; times are judged from {FEWEST_FOR_TIMES} runs on"
    share = len(found.alarms) / len(found.times)
    alarms = counted(len(found.alarms), "alarm")
    text += f"; {alarms} in {counted(len(found.times), 'verdict')} on times ({share:.2%})"
    unknown = sum(each.verdict == "inconclusive" for each in found.times)
    if not unknown:
        return text
    told = ": more --runs or a quieter machine" if unknown == len(found.times) else ""
    return f"{text}; {unknown:,} of them inconclusive{told}"
