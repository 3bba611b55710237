"""The command `constparity campaign`: what it asks, prints, and exits with."""

from __future__ import annotations

import hashlib
import platform
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from parity_tests.cli.display import BriefDisplay, Display
from parity_tests.cli.exit_codes import Exit, complain, fail, interrupted
from parity_tests.cli.options import HOW, OUTPUT, WHAT, Reporting, Store
from parity_tests.cli.report_option import write_reports
from reports.kinds import formats_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from parity_tests.campaign.plan import NamedEnvironment
    from parity_tests.campaign.scheduling import MakesRunner
    from parity_tests.campaign.spec import EnvironmentSpec
    from parity_tests.cli.plan_view import CampaignProgress
    from parity_tests.cli.terminal import Shown
    from reports import ReportRequest
    from reports.rows.plan import PlanReport, State

_FIRST_ANSWER_SECONDS = 30.0


PlanReporting = Annotated[Reporting, formats_of("planned campaign")]


def campaign(
    context: typer.Context,
    spec: Annotated[
        Path,
        typer.Argument(metavar="SPEC", help="A TOML file that says what is run."),
    ],
    store: Store = None,
    expression: Annotated[
        str,
        typer.Option(
            "-k",
            metavar="EXPRESSION",
            help="Only programs, corpora or tags that match, as in pytest.",
            rich_help_panel=WHAT,
        ),
    ] = "",
    retry: Annotated[
        str | None,
        typer.Option(
            metavar="STATES",
            help="Run programs in these states again, separated by commas: lost, breaks.",
            rich_help_panel=WHAT,
        ),
    ] = None,
    anew: Annotated[
        bool,
        typer.Option("--anew", help="Begin once more, beside what there is.", rich_help_panel=WHAT),
    ] = False,
    jobs: Annotated[
        int,
        typer.Option(
            "--jobs",
            "-j",
            min=1,
            metavar="N",
            help="How many tasks run at once, each on processors of its own.",
            rich_help_panel=HOW,
        ),
    ] = 1,
    scheduler: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="Run tasks on the workers of a Dask scheduler, as in tcp://node-1:8786. Needs "
            "constparity[cluster].",
            rich_help_panel=HOW,
        ),
    ] = None,
    shard: Annotated[
        str | None,
        typer.Option(
            metavar="I/N",
            help="Run one of N parts, as 3/8; `constparity merge` puts them together.",
            rich_help_panel=HOW,
        ),
    ] = None,
    durations: Annotated[
        Path | None,
        typer.Option(
            metavar="STORE",
            help="Balance the parts by what programs took in this store: the same for all parts.",
            rich_help_panel=HOW,
        ),
    ] = None,
    no_smaller: Annotated[
        bool,
        typer.Option(
            "--no-smaller",
            help="Do not make generated programs smaller that fail, one of each cause.",
            rich_help_panel=HOW,
        ),
    ] = False,
    status: Annotated[
        bool,
        typer.Option(
            "--status", help="Run nothing; report on what there is.", rich_help_panel=OUTPUT
        ),
    ] = False,
    list_: Annotated[
        str | None,
        typer.Option(
            "--list",
            metavar="STATES",
            help="Run nothing; print the programs in these states, one on a line, with the "
            "environment behind a tab where there are several.",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    *,
    reporting: PlanReporting,
    display: BriefDisplay,
) -> None:
    """Run the programs of a spec file, however many, and keep each as soon as its task ends.

    The same command goes on with a campaign that was interrupted. The store is that of
    `constparity history`, beside the spec unless --store names one.

    Examples:

      constparity campaign ecosystem.toml --jobs 2 -k numpyro

      constparity campaign nightly.toml --status --report html:so_far.html

      constparity campaign nightly.toml --retry lost,"could not compare"
    """
    from parity_tests.campaign.campaign import Asked, digest_of, run_campaign
    from parity_tests.campaign.searching import smaller_programs, with_files
    from parity_tests.campaign.selecting import check_expression
    from parity_tests.campaign.spec import read_spec
    from parity_tests.campaign.task_process import FolderError
    from parity_tests.campaign.tasks import read_shard
    from parity_tests.cli.plan_view import LINE_SECONDS, CampaignProgress
    from parity_tests.run.selection import parse_expression
    from reports.store.database import check_is_there
    from reports.store.plan_report import find_plan, plan_report

    if list_ is not None and (reporting.texts or reporting.report_url):
        fail("--list prints names and writes no report: leave out --report and --report-url")
    requests = reporting.requests(context)
    file = store or spec.with_suffix(".db")
    listed = None if list_ is None else _states(list_, "--list")
    again = () if retry is None else _to_retry(retry)
    if anew and again:
        fail("--anew begins once more, and --retry goes on: give one of them")
    if (status or listed) and (anew or again or scheduler is not None or durations):
        fail("--status and --list run nothing: leave out --anew, --retry, --scheduler, --durations")
    try:
        if expression.strip():
            parse_expression(expression)
        given = read_spec(spec)
        check_expression(given, expression)
        named = read_shard(shard) if shard else None
        if durations:
            check_is_there(durations, "name the store of an earlier campaign in --durations")
        if listed or status:
            check_is_there(file, "run the same command without --status and --list first")
            digest = digest_of(given, expression)
            plan = find_plan(file, digest=digest, shard=str(named or "")).id
        if listed:
            _print_list(file, plan, listed)
            return
        if not status:
            with display.progress(every=LINE_SECONDS, first="planning the campaign") as shown:
                progress = CampaignProgress(shown)
                asked = Asked(
                    spec=given,
                    folder=spec.parent,
                    store=file,
                    environments=_environments(given.environment, spec.parent, shown),
                    expression=expression,
                    shard=named,
                    durations=durations,
                    anew=anew,
                    retry=again,
                    jobs=jobs,
                )
                if scheduler is not None:
                    shown.say(f"waiting for the scheduler at {scheduler}")
                plan = run_campaign(
                    asked,
                    _here(jobs, progress) if scheduler is None else _on_cluster(scheduler),
                    say=shown.say,
                    on_step=progress,
                )
        found = with_files(plan_report(file, plan, given.campaign.rules), [file])
        conclude_plan(context, display, requests, found)
        if not status and not no_smaller:
            with display.progress(every=LINE_SECONDS, first="making programs smaller") as shown:
                made = list(
                    smaller_programs(file, plan, given.campaign, asked.environments, say=shown.say)
                )
            if made:  # the report names them
                found = with_files(plan_report(file, plan, given.campaign.rules), [file])
                write_reports(context, display.console(), requests, found)
    except FolderError as error:
        what_to_do = f"make room there, and the same command goes on: {file} has what was finished"
        complain(f"{error}; {what_to_do}")
        context.obj.code = Exit.INTERNAL_ERROR
    except KeyboardInterrupt:
        interrupted(context, f"; {file} has the tasks that had ended, and the same command goes on")


def conclude_plan(
    context: typer.Context,
    display: Display,
    requests: Sequence[ReportRequest],
    report: PlanReport,
) -> None:
    """Print a planned campaign, write its reports, and set what the process exits with."""
    from parity_tests.cli.plan_view import print_plan

    console = display.console()
    print_plan(console, report, is_short=not display.details)
    write_reports(context, console, requests, report)
    context.obj.code = max(context.obj.code, _exit_code(report))


def _here(jobs: int, progress: CampaignProgress) -> MakesRunner:
    """Run tasks on this machine."""
    from parity_tests.campaign.task_process import run_here

    return lambda folder, campaign, *, alone: partial(
        run_here, folder=folder, jobs=1 if alone else jobs, at_work=progress.at_work
    )


def _on_cluster(address: str) -> MakesRunner:
    """Run tasks on the workers of a scheduler; make sure first that it is there."""
    from parity_tests.campaign.cluster import ClusterRunner, connected

    with connected(address, _FIRST_ANSWER_SECONDS):
        pass

    def made(folder: Path, campaign: str, *, alone: bool) -> ClusterRunner:
        # Dask gives two clients one result of tasks with one key, and a task is known by its text:
        # in another folder the same one has other programs.
        where = hashlib.sha256(f"{platform.node()} {folder.resolve()}".encode()).hexdigest()[:12]
        return ClusterRunner(address, f"{folder.parent.name}-{campaign}-{where}", alone=alone)

    return made


def _states(text: str, option: str) -> tuple[State, ...]:
    """Read the states that an option names."""
    from reports.rows.plan import STATES

    names = [each.strip() for each in text.split(",") if each.strip()]
    if not names:
        what = f"name states, separated by commas: {', '.join(STATES)}"
        raise typer.BadParameter(what, param_hint=f"'{option}'")
    if wrong := [name for name in names if name not in STATES]:
        what = f"no state {wrong[0]!r}; the states are {', '.join(STATES)}"
        raise typer.BadParameter(what, param_hint=f"'{option}'")
    return tuple(state for state in STATES if state in names)


def _to_retry(text: str) -> tuple[State, ...]:
    """Read the states of --retry; what is unavailable would be so again."""
    if "unavailable" in (states := _states(text, "--retry")):
        raise typer.BadParameter(
            "what is unavailable does not run before its module is installed: install it, and "
            "begin another campaign with --anew",
            param_hint="'--retry'",
        )
    return states


def _environments(
    given: Sequence[EnvironmentSpec], folder: Path, shown: Shown
) -> tuple[NamedEnvironment, ...]:
    """Return each environment with its Python; make what is missing."""
    from parity_tests.campaign.plan import NamedEnvironment
    from parity_tests.campaign.spec import SpecError
    from parity_tests.environments.find_python import NoPythonError
    from parity_tests.environments.making import MakingError, environment_of, planned
    from parity_tests.environments.requirements import RequirementError
    from parity_tests.processes.interpreters import InterpreterError, interpreter_at

    found: list[NamedEnvironment] = []
    for each in given:
        if each.jax:
            try:
                plan = planned(each.jax, each.packages, say=shown.say)
                made = environment_of(plan, shown.say)
            except (NoPythonError, RequirementError, MakingError) as error:
                raise SpecError(f"environment {each.jax}: {error}") from error
            limits = [f"-c {each.constraints.file}"] if each.constraints else []
            label = " ".join([each.jax, *each.with_, *limits])
            found.append(NamedEnvironment(label, each, made.python))
        elif each.python:
            try:
                path = interpreter_at(str(folder / Path(each.python).expanduser()), ())
            except InterpreterError as error:
                raise SpecError(f"environment {each.python}: {error}") from error
            found.append(NamedEnvironment(each.python, each, path))
        else:
            found.append(NamedEnvironment("here", each))
    return tuple(found)


def _print_list(store: Path, plan: int, states: Sequence[State]) -> None:
    from parity_tests.cli.terminal import on_one_line
    from reports.store.plan_report import planned_names

    for name, environment in planned_names(store, plan, states):
        line = on_one_line(name)  # a tab of its own would end the column
        print(f"{line}\t{environment}" if environment else line)


def _exit_code(report: PlanReport) -> Exit:
    statuses = {each.status for each in report.broken}
    if "difference" in statuses or (report.proof and report.proof.contradicted):
        return Exit.DIFFERENCE
    # Of programs without a result, or without times that were asked for, nothing is known,
    # whatever the rules are; nor is it of libraries that are left out.
    without_result = report.states.get("not run") or report.states.get("lost")
    is_less = report.not_timed or any(each.left_out for each in report.libraries)
    if statuses or without_result or is_less:
        return Exit.COULD_NOT_COMPARE
    return Exit.PARITY
