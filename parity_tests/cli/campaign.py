"""A campaign on the command line, as `run`, `explain`, `matrix` and `compare` have it."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import typer

from parity_tests.cli.exit_codes import Exit, code_of, fail
from parity_tests.cli.report_option import write_reports

if TYPE_CHECKING:
    from parity_tests.campaign.options import CampaignOptions
    from reports import ReportRequest
    from reports.rows import Campaign


def run_campaign(
    context: typer.Context, targets: Sequence[str], options: CampaignOptions
) -> Campaign | None:
    """Run a campaign with a progress bar; None where it came to nothing, which then is said."""
    from parity_tests.campaign import run as campaign
    from parity_tests.campaign.folder import ResumeError
    from parity_tests.cli import terminal
    from parity_tests.targets import TargetError

    try:
        with terminal.progress(terminal.console()) as advance:
            result = campaign.run(targets, options, progress=advance)
    except (TargetError, ResumeError) as error:
        fail(str(error))
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
    context: typer.Context, result: Campaign, requests: Sequence[ReportRequest], exit_zero: bool
) -> None:
    """Print a campaign, write its reports, and set what the process exits with."""
    from parity_tests.cli import terminal

    console = terminal.console()
    terminal.print_campaign(console, result)
    context.obj.code = Exit.PARITY if exit_zero else code_of(result.verdict)
    write_reports(context, console, requests, result)
