"""The command `constparity compare`: what it asks, prints, and exits with."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from parity_tests.cli.compare_stored import compare_stored
from parity_tests.cli.display import Display
from parity_tests.cli.exit_codes import fail
from parity_tests.cli.option_panels import HOW
from parity_tests.cli.options import (
    AttributionTimeout,
    ExitZero,
    FailOn,
    Judging,
    ProgramTimeout,
    Reporting,
)
from parity_tests.cli.run_programs import conclude
from parity_tests.cli.store_option import Store


def compare(
    context: typer.Context,
    left: Annotated[str, typer.Argument(metavar="A", show_default=False)],
    right: Annotated[str, typer.Argument(metavar="B", show_default=False)],
    store: Store = None,
    *,
    reporting: Reporting,
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
    display: Display,
    fail_on: FailOn = None,
    exit_zero: ExitZero = False,
) -> None:
    """Compare two results that `constparity run --save` wrote, with the judge of a live run.

    Where they have different sides they are judged as one campaign; a side that both have is
    compared with itself. Without --attribute nothing is run.

    With --store, A and B are runs of that database, by number or as last and last~1, or JSON
    reports. Each program is better, worse, newly different, newly fixed, gone, new, not comparable
    or within noise; the exit status is 1 where one is newly different or worse, and 2 where none
    could be compared. What other machines or versions measured is not judged.

    Examples:

      constparity run my_model.py --sides legacy,jax-legacy --save A.json

      constparity run my_model.py --sides simplified,jax-simplified --save B.json

      constparity compare A.json B.json

      constparity compare last~1 last --store runs.db --report json:changes.json
    """
    if store is not None:
        if attribute or fail_on is not None:
            fail("--attribute and --fail-on need the arrays of A.json; a store has none of them")
        if reporting.report_url:
            fail("--report-url is a link in a comment; --store writes its comparison as json alone")
        texts = reporting.report or ()
        compare_stored(context, store, left, right, texts, display, exit_zero)
        return
    import reports
    from parity_tests.campaign import compare_saved
    from parity_tests.evidence.saved import Saved, SavedError

    requests, judging = reporting.requests(context), Judging(fail_on, exit_zero)
    try:
        with display.progress() as shown:
            saved = []
            for file in (left, right):
                shown(0, 0, f"reading {file}, and the digests of its arrays")
                saved.append(Saved.read(Path(file)))
            result = compare_saved.compare(
                *saved,
                attribute=attribute,
                timeout=timeout,
                attribution_timeout=attribution_timeout,
                progress=shown,
            )
    except (SavedError, reports.ReportReadError) as error:
        fail(str(error))
    conclude(context, result, requests, judging, display)
