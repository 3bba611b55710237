"""Programs run, printed and judged on the command line, as `run`, `explain` and others do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import typer

from parity_tests.cli.exit_codes import (
    Exit,
    code_of,
    complain,
    interrupted,
    nothing_collected,
)
from parity_tests.cli.report_option import write_reports

if TYPE_CHECKING:
    from rich.console import Console

    from parity_tests.cli.display import Display
    from parity_tests.cli.options import Judging
    from parity_tests.cli.selecting import Chosen
    from parity_tests.run.options import CampaignOptions
    from reports import ReportRequest
    from reports.rows import Campaign, ProgramRow
    from reports.rows.fail_rules import Broken


def selected(context: typer.Context, chosen: Chosen, options: CampaignOptions) -> CampaignOptions:
    """Return options with the programs that were chosen; sides that nobody named may miss."""
    source = context.get_parameter_source("sides")
    by_default = source is not None and source.name == "DEFAULT"
    return options.model_copy(update={"select": chosen.select, "sides_may_miss": by_default})


def start_early(context: typer.Context, sides: str | None) -> None:
    """Start the processes that a campaign begins with, while the command imports what it needs.

    Those that nobody takes end with the command.
    """
    from parity_tests.processes import early_starts

    named = early_starts.SIDES if sides is None else [each.strip() for each in sides.split(",")]
    context.with_resource(early_starts.started_early(early_starts.of_campaign(named)))


def run_programs(
    context: typer.Context,
    chosen: Chosen,
    options: CampaignOptions,
    display: Display,
    *,
    stops_after: Callable[[ProgramRow], bool] | None = None,
) -> Campaign | None:
    """Run programs with a progress bar; None where it came to nothing, which then is said.

    What cannot be saved is said, and returned all the same.
    """
    from parity_tests.run import run as campaign
    from parity_tests.run.proving import with_places

    try:
        with display.progress(first="loading the programs") as shown:
            result = campaign.run(
                chosen.targets,
                selected(context, chosen, options),
                progress=shown,
                announce=shown.say,
                stops_after=stops_after,
                passes=(*campaign.PASSES, with_places),
            )
    except campaign.NotSavedError as error:
        complain(str(error))
        context.obj.code = Exit.INTERNAL_ERROR
        result = error.campaign
    except KeyboardInterrupt:
        hint = f"; {options.store} has what was finished" if options.store else ""
        goes_on = "the same command goes on from here"
        hint += f"; {goes_on}" if options.resume else "; with --resume DIR a run goes on after this"
        interrupted(context, hint)
        return None
    if not result.programs:
        nothing_collected(context, chosen.named)
        return None
    return result


@dataclass(frozen=True)
class Ending:
    """What a command does with what it found: prints it, writes reports, and exits by rules."""

    context: typer.Context
    display: Display
    requests: Sequence[ReportRequest]
    judging: Judging


def conclude(ending: Ending, result: Campaign) -> list[Broken]:
    """Print a campaign, write its reports, and set what the process exits with.

    Returns the rules that programs break.
    """
    from parity_tests.cli import run_view

    console = ending.display.console()
    run_view.print_campaign(console, result, details=ending.display.details)
    write_reports(ending.context, console, ending.requests, result, ending.judging.rules)
    return exit_by_rules(ending, result)


def exit_by_rules(ending: Ending, result: Campaign) -> list[Broken]:
    """Set what the process exits with by the rules that programs break, and say which they are.

    With -q each program that breaks one is named, too, since nothing else does. An error before, as
    of a report that could not be written, keeps its own exit status.
    """
    from parity_tests.cli import run_view
    from reports.rows.fail_rules import broken
    from reports.views.texts import counted

    console, rules = ending.display.console(), ending.judging.rules
    found = broken(result, rules)
    if not ending.display.details:
        run_view.print_failing(console, result, {name for each in found for name in each.programs})
    if result.not_run:
        left_out = counted(len(result.not_run), "program")
        console.print(f"stopped at the first failure: {left_out} not run", highlight=False)
    print_broken(console, found)
    is_timed = any(row.times for row in result.programs)
    had_rounds = (result.settings or {}).get("rounds", "0") != "0"
    for rule in rules:
        what = _NOT_LOOKED_AT.get(rule.name)
        if rule.name == "slower" and had_rounds:
            what = _NO_ROUNDS
        if what and not (rule.name == "slower" and is_timed):
            console.print(f"{rule.text}: {what}", highlight=False)
    exit_by(ending, found)
    return found


_NOT_LOOKED_AT = {
    "slower": "looked at where it is beyond doubt, for nothing was timed in rounds (--rounds 5)",
    "version-change": "not looked at, for it is about several versions in one run (--python or "
    "--jax)",
}


_NO_ROUNDS = (
    "looked at where it is beyond doubt, for the rounds timed no program: they time those that "
    "work on all sides"
)


def print_broken(console: Console, found: Sequence[Broken]) -> None:
    """Print the rules that programs break, and how many."""
    from reports.views.texts import counted

    for each in found:
        programs = counted(len(each.programs), "program")
        console.print(
            f"fails on {each.rule.text}: {programs}", highlight=False, markup=False, emoji=False
        )


def exit_by(ending: Ending, found: Sequence[Broken]) -> None:
    """Set what the process exits with by the rules that are broken, and say where it does not."""
    code = min((code_of(each.status) for each in found), default=Exit.PARITY)
    if found and ending.judging.exit_zero:
        message = "exit status 0 all the same (--exit-zero)"
        ending.display.console().print(message, highlight=False)
        code = Exit.PARITY
    ending.context.obj.code = max(ending.context.obj.code, code)
