"""The command `constparity compare`: what it asks, prints, and exits with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from parity_tests.cli.display import Display
from parity_tests.cli.exit_codes import Exit, fail
from parity_tests.cli.options import (
    HOW,
    AttributionTimeout,
    ExitZero,
    FailOn,
    Judging,
    ProgramTimeout,
    Reporting,
    Store,
)
from parity_tests.cli.report_option import checked_reports, write_reports
from parity_tests.cli.run_programs import Ending, conclude
from reports.kinds import formats_of

if TYPE_CHECKING:
    from rich.console import Console

    from parity_tests.run.compare_runs import ReadRun
    from reports.rows.history import ComparedRun, ProgramChangeOutcome, RunComparison

STYLES: Mapping[ProgramChangeOutcome, str] = {
    "newly different": "bold red",
    "worse": "bold red",
    "gone": "yellow",
    "not comparable": "yellow",
    "newly fixed": "green",
    "better": "green",
    "new": "cyan",
    "within noise": "dim",
}
_SHOWN = 50  # programs of one outcome; the JSON report has all


def compare(
    context: typer.Context,
    left: Annotated[str, typer.Argument(metavar="A")],
    right: Annotated[str, typer.Argument(metavar="B")],
    store: Store = None,
    *,
    reporting: Reporting,
    attribute: Annotated[
        bool,
        typer.Option(
            "--attribute",
            help="Run what drifts again, of results that you trust: what they name is imported, "
            "and why outputs drift is found out as by `run`.",
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
    or within noise; the exit status is 1 where one is newly different or worse, and 2 where one is
    gone or not comparable, all are new, or a run has no end. Outputs with other bits are not
    comparable: a store keeps no arrays. What other machines or versions measured is not judged.

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
        texts = reporting.texts
        compare_stored(context, store, left, right, texts, display, exit_zero)
        return
    from parity_tests.evidence.saved import Saved
    from parity_tests.run import compare_saved
    from reports.store.reading import is_reference

    for file in (left, right):
        if is_reference(file) and not Path(file).exists():
            fail(f"{file} is a run of a database: name that, as in --store runs.db")
    requests, judging = reporting.requests(context), Judging(fail_on, exit_zero)
    with display.progress(first="reading the results") as shown:
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
    conclude(Ending(context, display, requests, judging), result)


def compare_stored(
    context: typer.Context,
    store: Path,
    left: str,
    right: str,
    reports: Sequence[str],
    display: Display,
    exit_zero: bool,
) -> None:
    """Compare two runs, print what became of each program, and set the exit status."""
    from parity_tests.run.compare_runs import compare_runs

    requests = checked_reports(context, reports, formats_of("comparison"))
    with display.progress(first=f"reading {left} and {right}"):
        runs = [_read(store, each) for each in (left, right)]
        found = compare_runs(*runs)
    console = display.console()
    print_comparison(console, found, details=display.details)
    write_reports(context, console, requests, found)
    code = exit_of(found)
    if code is Exit.PARITY and not all(each.run.is_complete for each in runs):
        code = Exit.COULD_NOT_COMPARE  # of programs that neither has, nothing is known
    context.obj.code = max(context.obj.code, Exit.PARITY if exit_zero else code)


def exit_of(found: RunComparison) -> Exit:
    """Return the exit status of a comparison."""
    counts = found.counts()
    if counts.keys() & {"newly different", "worse"}:
        return Exit.DIFFERENCE
    # Of new programs alone none was compared.
    if counts.keys() & {"gone", "not comparable"} or not counts.keys() - {"new"}:
        return Exit.COULD_NOT_COMPARE
    return Exit.PARITY


def _read(store: Path, name: str) -> ReadRun:
    """Read a run of the store, or a JSON report where the name is no reference to a run."""
    import reports
    from parity_tests.run.compare_runs import ReadRun
    from reports.store import reading
    from reports.store.columns import program_of, run_of_file

    if reading.is_reference(name):
        run = reading.find_run(store, name)
        return ReadRun(run, reading.load_programs(store, run))
    campaign = reports.load_campaign(name)
    if len(campaign.sides) == 1:
        side = campaign.sides[0]
        fail(f"{name} compares {side} with itself (constparity aa), and is no run to compare")
    programs = [program_of(row) for row in campaign.programs]
    return ReadRun(run_of_file(name, campaign), programs)


def print_comparison(console: Console, found: RunComparison, *, details: int) -> None:
    """Print what the runs are, the counts, and each program that is not within noise."""
    from parity_tests.cli.terminal import say
    from reports.views.texts import counted

    for each in (found.left, found.right):
        say(console, _told(each))
    for line in found.provenance:
        say(console, line, "yellow")
    counts = found.counts()
    listed = [f"{count:,} {outcome}" for outcome, count in counts.items()]
    say(console, f"{counted(len(found.programs), 'program')}: {', '.join(listed)}", "bold")
    for outcome in counts if details else ():
        of_outcome = [each for each in found.programs if each.outcome == outcome]
        if outcome == "within noise" and details < 2:
            of_outcome = [each for each in of_outcome if each.notes]
        for change in of_outcome[:_SHOWN]:
            say(console, f"{change.name}: {outcome}", STYLES[outcome])
            for text in (*change.reasons, *change.notes):
                say(console, f"    {text}")
        if len(of_outcome) > _SHOWN:
            more = counted(len(of_outcome) - _SHOWN, "more program")
            say(console, f"{more} {outcome}: --report json:PATH has them")


def _told(run: ComparedRun) -> str:
    """Say which run it is: when, where, with which versions and of which commit."""
    from reports.views.texts import counted

    commit = f", commit {run.commit}" if run.commit else ""
    machine = f" on {run.machine}" if run.machine else ""
    return (
        f"{run.label}: begun {run.created}{machine}, jax {run.environment.jax}{commit}, "
        f"{counted(run.programs, 'program')}"
    )
