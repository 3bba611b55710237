"""The command `constparity merge`: shards of a campaign, put together."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from parity_tests.cli.campaign import PlanReporting, conclude_plan
from parity_tests.cli.display import PlainDisplay


def merge(
    context: typer.Context,
    stores: Annotated[
        list[Path],
        typer.Argument(metavar="STORE...", help="The stores of all shards."),
    ],
    into: Annotated[
        Path, typer.Option("--into", "-o", metavar="FILE", help="The store that gets the whole.")
    ],
    *,
    reporting: PlanReporting,
    display: PlainDisplay,
) -> None:
    """Put the shards of a campaign together, as the whole campaign would have come out.

    Refuses shards that do not belong together: another spec, other versions, a shard that is
    missing or named twice. Exits as `constparity campaign` does.

    Examples:

      constparity campaign nightly.toml --shard 1/2 --store 1.db    on one machine

      constparity campaign nightly.toml --shard 2/2 --store 2.db    on another

      constparity merge 1.db 2.db --into all.db --report html:all.html
    """
    from parity_tests.campaign.searching import count_coverage, with_files
    from reports.store.plan_merge import merge as merged
    from reports.store.plan_report import plan_report

    requests = reporting.requests(context)
    with display.progress(first=f"putting {len(stores)} stores together"):
        plan = merged(stores, into)
        count_coverage(into, plan)
        found = with_files(plan_report(into, plan), [into, *stores])
    conclude_plan(context, display, requests, found)
