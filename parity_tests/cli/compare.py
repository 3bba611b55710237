"""The command `constparity compare`: what it asks, prints, and exits with."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from parity_tests.cli.campaign import conclude
from parity_tests.cli.display import NoColor, Quiet, Verbose, display_of
from parity_tests.cli.exit_codes import Exit, fail
from parity_tests.cli.option_panels import HOW
from parity_tests.cli.options import (
    AttributionTimeout,
    ExitZero,
    FailOn,
    ProgramTimeout,
    Report,
    parse_fail_on,
)
from parity_tests.cli.report_option import checked_reports


def compare(
    context: typer.Context,
    left: Annotated[Path, typer.Argument(metavar="A.json", show_default=False)],
    right: Annotated[Path, typer.Argument(metavar="B.json", show_default=False)],
    report: Report = None,
    attribute: Annotated[
        bool,
        typer.Option(
            "--attribute",
            help="Run programs whose outputs drift again to find out why, as `run` does. What the "
            "files name is imported: only for results that you trust.",
            rich_help_panel=HOW,
        ),
    ] = False,
    timeout: ProgramTimeout = 120.0,
    attribution_timeout: AttributionTimeout = 60.0,
    quiet: Quiet = False,
    verbose: Verbose = False,
    no_color: NoColor = False,
    fail_on: FailOn = None,
    exit_zero: ExitZero = False,
) -> None:
    """Compare two results that `constparity run --save` wrote, with the judge of a live run.

    Where they have different sides they are judged as one campaign; a side that both have is
    compared with itself. Without --attribute nothing is run.

    Examples:

      constparity run my_model.py --sides legacy,jax-legacy --save A.json

      constparity run my_model.py --sides simplified,jax-simplified --save B.json

      constparity compare A.json B.json
    """
    import reports
    from parity_tests.campaign import compare_saved
    from parity_tests.evidence.saved import Saved, SavedError

    display = display_of(quiet, verbose, no_color)
    requests, rules = checked_reports(context, report or ()), parse_fail_on(fail_on)
    try:
        with display.progress() as shown:
            result = compare_saved.compare(
                Saved.read(left),
                Saved.read(right),
                attribute=attribute,
                timeout=timeout,
                attribution_timeout=attribution_timeout,
                progress=shown,
            )
    except (SavedError, reports.ReportReadError) as error:
        fail(str(error))
    except KeyboardInterrupt:
        print("constparity: interrupted", file=sys.stderr)
        context.obj.code = Exit.INTERRUPTED
        return
    conclude(context, result, requests, rules, exit_zero, display)
