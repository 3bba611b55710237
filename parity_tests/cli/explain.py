"""The command `constparity explain`: what it asks, prints, and exits with."""

from __future__ import annotations

from typing import Annotated

import typer

from parity_tests.cli.campaign import exit_by_rules, run_campaign
from parity_tests.cli.options import (
    ALL_SIDES,
    ExitZero,
    FailOn,
    ProgramTimeout,
    Sides,
    parse_fail_on,
    parse_sides,
)


def explain(
    context: typer.Context,
    targets: Annotated[
        list[str],
        typer.Argument(metavar="TARGET...", help="As for `run`.", show_default=False),
    ],
    sides: Sides = ALL_SIDES,
    timeout: ProgramTimeout = 120.0,
    fail_on: FailOn = None,
    exit_zero: ExitZero = False,
) -> None:
    """Print what each program captured, what became of it on each side, and what a flip may change.

    A hazard is possible and not certain. The exit status is that of `run`.

    Examples:

      constparity explain my_model.py:step

      constparity explain my_package.programs --sides jax-legacy,jax-simplified
    """
    from parity_tests.campaign.options import CampaignOptions
    from parity_tests.cli import explain_view, terminal

    rules = parse_fail_on(fail_on)
    result = run_campaign(
        context,
        targets,
        CampaignOptions(sides=parse_sides(sides), timeout=timeout, steady_calls=0),
    )
    if result is not None:
        console = terminal.console()
        explain_view.print_explanation(console, result)
        exit_by_rules(context, console, result, rules, exit_zero)
