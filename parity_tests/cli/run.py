"""The command `constparity run`: what it asks, prints, and exits with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from parity_tests.cli.display import Display
from parity_tests.cli.exit_codes import complain, fail
from parity_tests.cli.options import (
    HOW,
    OUTPUT,
    RARE,
    AttributionTimeout,
    Jobs,
    Judging,
    NoAttribution,
    ProgramTimeout,
    Reporting,
    Resume,
    RunStore,
    Sides,
    Targets,
    parse_sides,
)
from parity_tests.cli.python_option import (
    JaxVersions,
    Python,
    WithPackages,
    interpreters,
    pythons_of,
    releases_of,
)
from parity_tests.cli.report_option import check_for, check_saving
from parity_tests.cli.run_programs import Ending, conclude, run_programs, start_early
from parity_tests.cli.run_versions import check_saving_each, run_on_versions, search_releases
from parity_tests.cli.selecting import (
    Choosing,
    LastFailed,
    ListOnly,
    list_programs,
)
from reports.kinds import kind_named

if TYPE_CHECKING:
    from parity_tests.run.options import CampaignOptions
    from reports.rows import ProgramRow, Side


@dataclass(frozen=True)
class _Where:
    """The interpreters that the sides run in."""

    jax: JaxVersions = None
    with_: WithPackages = None
    python: Python = None

    def pythons(
        self, context: typer.Context, releases: Sequence[str] = (), *, reload: bool
    ) -> list[Path] | None:
        """Return them, and make what --jax lacks; None where one cannot be made, which is said.

        `releases` stand in the place of --jax.
        """
        given = interpreters(self.python or (), reload=reload)
        made = pythons_of(context, ",".join(releases) or self.jax, self.with_)
        return None if made is None else [*given, *interpreters(made, reload=reload)]


@dataclass(frozen=True)
class _Measuring:
    """How programs are run."""

    jobs: Jobs = None
    rounds: Annotated[
        int,
        typer.Option(
            min=0,
            metavar="N",
            help="Judge times in N rounds; 5 are enough for a verdict.",
            rich_help_panel=HOW,
        ),
    ] = 0
    exit_first: Annotated[
        bool,
        typer.Option(
            "-x",
            help="Stop after the first program that fails by --fail-on.",
            rich_help_panel=HOW,
        ),
    ] = False
    timeout: ProgramTimeout = 120.0
    resume: Resume = None
    only_changed: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Run only programs that have changed since this result, a JSON report; verdicts "
            "of the others are taken over from it, without times.",
            rich_help_panel=RARE,
        ),
    ] = None
    no_times: Annotated[
        bool,
        typer.Option(
            "--no-times",
            help="Do not call programs again and again to time them.",
            rich_help_panel=RARE,
        ),
    ] = False
    fresh: Annotated[
        bool,
        typer.Option(
            "--fresh",
            help="A process for each program: the peaks of host memory are its own.",
            rich_help_panel=RARE,
        ),
    ] = False
    reload: Annotated[
        bool,
        typer.Option(
            "--reload",
            help="Also export each program and read it back, and reload it from a cache.",
            rich_help_panel=RARE,
        ),
    ] = False
    memory_limit: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="MIB",
            help="Give a program up on a side where its process grows beyond this.",
            rich_help_panel=RARE,
        ),
    ] = None
    no_attribution: NoAttribution = False
    attribution_timeout: AttributionTimeout = 60.0

    def options(
        self, sides: tuple[Side, ...], python: Path | None, keeping: _Keeping
    ) -> CampaignOptions:
        """Return the options of the campaign."""
        from parity_tests.processes.options import STEADY_CALLS
        from parity_tests.run.options import CampaignOptions

        return CampaignOptions(
            sides=sides,
            python=python,
            timeout=self.timeout,
            memory_limit=self.memory_limit * 2**20 if self.memory_limit else None,
            processes=self.jobs,
            resume=self.resume,
            only_changed=self.only_changed,
            rounds=self.rounds,
            save=keeping.save,
            store=keeping.store,
            machine=keeping.machine,
            steady_calls=0 if self.no_times else STEADY_CALLS,
            fresh=self.fresh,
            reload=self.reload,
            attribute=not self.no_attribution,
            attribution_timeout=self.attribution_timeout,
        )


@dataclass(frozen=True)
class _Keeping:
    """Where results are kept."""

    save: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Save results and arrays, for `compare`.",
            rich_help_panel=OUTPUT,
        ),
    ] = None
    store: RunStore = None
    machine: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="What --store calls this machine. Times of two names are not compared.",
            show_default="the name of the host",
            rich_help_panel=RARE,
        ),
    ] = ""

    def check(self, context: typer.Context, pythons: Sequence[Path], report: Sequence[str]) -> None:
        """Make sure that they can be; leaves with `Exit.USAGE` where they cannot."""
        if self.save is not None and len(pythons) > 1:
            check_saving_each(context, self.save, pythons, report)
        elif self.save is not None:
            check_saving(context, self.save, report)
        if self.store is not None:
            from reports.store.writing import check_store

            check_store(self.store)


def run(
    context: typer.Context,
    targets: Targets = None,
    *,
    choosing: Choosing,
    where: _Where,
    last_failed: LastFailed = False,
    sides: Sides = None,
    list_only: ListOnly = False,
    measuring: _Measuring,
    reporting: Reporting,
    keeping: _Keeping,
    display: Display,
    judging: Judging,
) -> None:
    """Run programs on every side and compare them.

    Examples:

      constparity run my_model.py:step --report html:step.html

      constparity run my_package.programs -k "scan and not grad" --last-failed -x

      constparity run my_model.py --jax 0.12 --with flax --store runs.db
    """
    # Before any import that takes time. With --jobs, no more processes than it says are alive.
    elsewhere = where.python or where.jax or where.with_
    if not (list_only or elsewhere or measuring.resume or measuring.jobs):
        start_early(context, sides)
    on_sides = parse_sides(sides)
    chosen = choosing.choose(targets or (), last_failed=last_failed)
    requests = [] if list_only else reporting.requests(context)
    releases = releases_of(where.jax)
    if releases:
        _refuse(
            f"--jax {where.jax}",
            {"--python": where.python, "--save": keeping.save, "--resume": measuring.resume,
             "-x": measuring.exit_first},
            "releases are searched by halves, and run several times; run the two that it finds "
            "with it, as in --jax 0.11.0,0.11.1",
        )  # fmt: skip
    pythons = where.pythons(context, releases[:1] + releases[-1:], reload=measuring.reload)
    if pythons is None:
        return
    if not (chosen.targets or list_only):
        complain("no target is named: the programs are those of the built-in corpus")
    if len(pythons) > 1:
        check_for(requests, kind_named("grid"))
    first = pythons[0] if pythons else None
    if list_only:
        list_programs(context, display.console(), chosen, measuring.timeout, first)
        return
    if measuring.only_changed is not None:
        _refuse(
            "--only-changed",
            {"--save": keeping.save, "--store": keeping.store, "--resume": measuring.resume,
             "several interpreters": len(pythons) > 1},
            "what is taken over has no arrays and no times, and is of one environment; keep the "
            "result with --report json:FILE",
        )  # fmt: skip
    keeping.check(context, pythons, reporting.texts)
    options = measuring.options(on_sides, first, keeping)

    def is_last(row: ProgramRow) -> bool:
        return any(rule.is_broken_by(row) for rule in judging.rules)

    stops_after = is_last if measuring.exit_first else None
    ending = Ending(context, display, requests, judging)
    if releases:
        search_releases(
            ending, chosen, options, releases,
            lambda some: where.pythons(context, some, reload=measuring.reload),
        )  # fmt: skip
        return
    if len(pythons) > 1:
        run_on_versions(ending, chosen, options, pythons, stops_after=stops_after)
        return
    result = run_programs(context, chosen, options, display, stops_after=stops_after)
    if result is not None:
        from parity_tests.cli.last_failed import remember

        broken = conclude(ending, result)
        remember(result.programs, [name for each in broken for name in each.programs])


def _refuse(option: str, beside: Mapping[str, object], why: str) -> None:
    """Leave with `Exit.USAGE` where an option stands beside another that it cannot serve."""
    if other := next((name for name, value in beside.items() if value), ""):
        fail(f"{option} and {other}: {why}")
