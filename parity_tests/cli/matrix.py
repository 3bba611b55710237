"""The command `constparity matrix`: what it asks, prints, and exits with."""

from __future__ import annotations

import typer

from parity_tests.cli.display import Display
from parity_tests.cli.options import (
    Jobs,
    Judging,
    Reporting,
    Sides,
    parse_sides,
)
from parity_tests.cli.run_programs import Ending, conclude, run_programs
from parity_tests.cli.selecting import Choosing, Expression, ListOnly, list_programs


def matrix(
    context: typer.Context,
    sides: Sides = None,
    expression: Expression = "",
    list_only: ListOnly = False,
    jobs: Jobs = None,
    *,
    reporting: Reporting,
    display: Display,
    judging: Judging,
) -> None:
    """Run one captured array in each construct of JAX under each transformation; print the grid.

    The cells that nobody runs are in the grid, too. The exit status is that of `run`.

    Examples:

      constparity matrix

      constparity matrix -k "scan and grad" --sides legacy,simplified
    """
    from parity_tests import transform_matrix
    from parity_tests.cli import matrix_grid
    from parity_tests.run.options import CampaignOptions

    requests = reporting.requests(context)
    options = CampaignOptions(sides=parse_sides(sides), steady_calls=0, reload=True, processes=jobs)
    chosen = Choosing(expression).choose([transform_matrix.__name__])
    if list_only:
        list_programs(context, display.console(), chosen, options.timeout)
        return
    result = run_programs(context, chosen, options, display)
    if result is not None:
        conclude(Ending(context, display, requests, judging), result)
        if display.details:
            matrix_grid.print_grid(display.console(), matrix_grid.grid(result))
