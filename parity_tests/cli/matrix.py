"""The command `constparity matrix`: what it asks, prints, and exits with."""

from __future__ import annotations

import typer

from parity_tests.cli.campaign import conclude, run_campaign
from parity_tests.cli.options import (
    ALL_SIDES,
    ExitZero,
    FailOn,
    Report,
    Sides,
    parse_fail_on,
    parse_sides,
)
from parity_tests.cli.report_option import checked_reports


def matrix(
    context: typer.Context,
    sides: Sides = ALL_SIDES,
    report: Report = None,
    fail_on: FailOn = None,
    exit_zero: ExitZero = False,
) -> None:
    """Run one captured array in each construct of JAX under each transformation; print the grid.

    The cells that nobody runs are in the grid, too. The exit status is that of `run`.
    """
    from parity_tests import transform_matrix
    from parity_tests.campaign.options import CampaignOptions
    from parity_tests.cli import matrix_grid, terminal

    requests, rules = checked_reports(context, report or ()), parse_fail_on(fail_on)
    result = run_campaign(
        context,
        [transform_matrix.__name__],
        CampaignOptions(sides=parse_sides(sides), steady_calls=0, reload=True),
    )
    if result is not None:
        conclude(context, result, requests, rules, exit_zero)
        terminal.print_grid(terminal.console(), matrix_grid.grid(result))
