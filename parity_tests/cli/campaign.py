"""A campaign on the command line, as `run`, `explain`, `matrix` and `compare` have it."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import typer

from parity_tests.cli.exit_codes import Exit, code_of, complain, fail
from parity_tests.cli.report_option import write_reports

if TYPE_CHECKING:
    from rich.console import Console

    from parity_tests.campaign.options import CampaignOptions
    from parity_tests.judge.fail_rules import FailRule
    from reports import ReportRequest
    from reports.rows import Campaign


def run_campaign(
    context: typer.Context, targets: Sequence[str], options: CampaignOptions
) -> Campaign | None:
    """Run a campaign with a progress bar; None where it came to nothing, which then is said.

    What cannot be saved is said, and returned all the same.
    """
    from parity_tests.campaign import run as campaign
    from parity_tests.campaign.folder import ResumeError
    from parity_tests.cli import terminal
    from parity_tests.targets import TargetError

    try:
        with terminal.progress() as advance:
            result = campaign.run(targets, options, progress=advance)
    except (TargetError, ResumeError) as error:
        fail(str(error))
    except campaign.NotSavedError as error:
        complain(str(error))
        context.obj.code = Exit.INTERNAL_ERROR
        result = error.campaign
    except KeyboardInterrupt:
        hint = "; the same command goes on from here" if options.resume else ""
        print(f"constparity: interrupted{hint}", file=sys.stderr)
        context.obj.code = Exit.INTERRUPTED
        return None
    if not result.programs:
        print(f"no programs in {' '.join(targets or ['the built-in corpus'])}", file=sys.stderr)
        context.obj.code = Exit.NOTHING_COLLECTED
        return None
    return result


def conclude(
    context: typer.Context,
    result: Campaign,
    requests: Sequence[ReportRequest],
    rules: Sequence[FailRule],
    exit_zero: bool,
) -> None:
    """Print a campaign, write its reports, and set what the process exits with."""
    from parity_tests.cli import campaign_view, terminal

    console = terminal.console()
    campaign_view.print_campaign(console, result)
    write_reports(context, console, requests, result)
    exit_by_rules(context, console, result, rules, exit_zero)


def exit_by_rules(
    context: typer.Context,
    console: Console,
    result: Campaign,
    rules: Sequence[FailRule],
    exit_zero: bool,
) -> None:
    """Set what the process exits with by the rules that programs break, and say which they are.

    An error before, as of a report that could not be written, keeps its own exit status.
    """
    from parity_tests.judge.fail_rules import broken
    from reports.views.texts import counted

    found = broken(result, rules)
    code = min((code_of(each.rule.status) for each in found), default=Exit.PARITY)
    for each in found:
        programs = counted(len(each.programs), "program")
        console.print(
            f"fails on {each.rule.text}: {programs}", highlight=False, markup=False, emoji=False
        )
    if found and exit_zero:
        console.print("exit status 0 all the same (--exit-zero)", highlight=False)
        code = Exit.PARITY
    context.obj.code = max(context.obj.code, code)
