"""The command `constparity report`: what it asks, writes, and exits with."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from parity_tests.cli.display import BriefDisplay
from parity_tests.cli.exit_codes import fail
from parity_tests.cli.options import OUTPUT, Judging, JudgingProofs, Reporting, Store
from parity_tests.cli.report_option import check_for, write_reports
from reports.kinds import kind_of


def report(
    context: typer.Context,
    result: Annotated[
        Path,
        typer.Argument(
            metavar="RESULT.json",
            help="What --report json:RESULT.json or --save RESULT.json wrote; pytest with "
            "--constparity-report json:RESULT.json; with --store a run.",
        ),
    ],
    *,
    reporting: Reporting,
    store: Store = None,
    fail_on: Annotated[
        str | None,
        typer.Option(
            metavar="RULES",
            help="Which findings are failures in JUnit: the rules of `run`, with the same default. "
            "They do not change the exit status.",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    display: BriefDisplay,
) -> None:
    """Write reports of a result, as the command that measured it would have. Nothing is run.

    The exit status is 0 where every report was written, whatever the result says.

    Examples:

      constparity report result.json --report html:out.html --report comment:out.md

      constparity report result.json --report junit:- --fail-on slower:20%

      constparity report last --store runs.db --report html:report.html
    """
    import reports
    from reports.store.reading import load_run

    if not reporting.texts:
        fail("name a report, as in --report html:report.html")
    with display.progress(first=f"reading {result}"):
        loaded = load_run(store, str(result)) if store else reports.load_result(result)
    kind = kind_of(loaded)
    of_proofs = kind.name == "proofs"
    rules = (JudgingProofs if of_proofs else Judging)(fail_on).rules
    requests = reporting.requests(context, of_proofs=of_proofs)
    check_for(requests, kind)
    write_reports(context, display.console(), requests, loaded, rules)
