"""The command line: `constparity run`, what it prints, and what it exits with."""

from __future__ import annotations

import difflib
import signal
import sys
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from parity_tests.cli.aa import aa
from parity_tests.cli.bench import bench
from parity_tests.cli.culprit import culprit
from parity_tests.cli.exit_codes import Exit, code_of, fail
from parity_tests.cli.export import export
from parity_tests.cli.options import ALL_SIDES, ExitZero, ProgramTimeout, Report, Resume, Sides
from parity_tests.cli.reduce import reduce
from parity_tests.cli.report_option import checked_reports, write_reports
from parity_tests.cli.sweep import sweep
from parity_tests.cli.tune import tune
from reports.views.texts import counted

if TYPE_CHECKING:
    from reports import ReportRequest
    from reports.rows import Campaign, Side


@dataclass
class _Outcome:
    """What a command came to: typer's own exits use 2 for usage, which is a verdict of ours."""

    code: Exit = Exit.PARITY


app = typer.Typer(
    name="constparity",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return what to exit with, one of `Exit`."""
    outcome = _Outcome()
    # SIGTERM as Ctrl-C, so that a cancelled CI job leaves neither workers nor files behind.
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        app(args=arguments, obj=outcome)
    except SystemExit as stop:
        if stop.code in (0, None):
            return outcome.code
        return Exit.USAGE if stop.code in (2, Exit.USAGE) else Exit.INTERRUPTED
    except KeyboardInterrupt:
        return Exit.INTERRUPTED
    except Exception:  # noqa: BLE001 - whatever is left is a fault of ours, and is said to be one
        traceback.print_exc()
        print("constparity: internal error; the lines above are for a bug report", file=sys.stderr)
        return Exit.INTERNAL_ERROR
    finally:
        signal.signal(signal.SIGTERM, before)
    return outcome.code


def _print_version(asked: bool) -> None:
    if asked:
        from parity_tests.observe.environment import version

        print(f"constparity {version()}")
        raise typer.Exit


@app.callback()
def constparity(
    _version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print it and exit."
        ),
    ] = False,
) -> None:
    """Compare the two ways in which JAX handles closed-over constants.

    Exit status: 0 parity, 1 a difference, 2 could not compare, 3 internal error, 4 usage,
    5 nothing collected.
    """


def _parse_sides(text: str) -> tuple[Side, ...]:
    from reports.rows import SIDES

    names = [name.strip() for name in text.split(",") if name.strip()]
    for name in names:
        if name not in SIDES:
            close = difflib.get_close_matches(name, SIDES, n=1)
            hint = f" (did you mean {close[0]}?)" if close else ""
            raise typer.BadParameter(f"no side {name!r}{hint}; the sides are {', '.join(SIDES)}")
    if len(names) < 2 or len(set(names)) < len(names):
        raise typer.BadParameter(f"a comparison needs two or more different sides, got {text!r}")
    return tuple(side for side in SIDES if side in names)


@app.command()
def run(
    context: typer.Context,
    targets: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[TARGET]...",
            help="package.module:name, path/to/file.py:name, or a module or file for every program "
            "in it. Without targets, the built-in corpus.",
            show_default=False,
        ),
    ] = None,
    sides: Sides = ALL_SIDES,
    report: Report = None,
    timeout: ProgramTimeout = 120.0,
    resume: Resume = None,
    rounds: Annotated[
        int,
        typer.Option(
            min=0,
            metavar="N",
            help="Judge times: N rounds of fresh processes, each side twice in a round. 5 are "
            "enough for a verdict; without rounds times are listed and not judged.",
        ),
    ] = 0,
    save: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Save the results, as in A.json, and their arrays beside it, for `compare`.",
            show_default=False,
        ),
    ] = None,
    no_times: Annotated[
        bool,
        typer.Option("--no-times", help="Do not call programs again and again to time them."),
    ] = False,
    fresh: Annotated[
        bool,
        typer.Option(
            "--fresh", help="A process for each program: the peaks of host memory are its own."
        ),
    ] = False,
    reload: Annotated[
        bool,
        typer.Option(
            "--reload",
            help="Also export each program and read it back, and reload it from a cache.",
        ),
    ] = False,
    memory_limit: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="MIB",
            help="Give a program up on a side where its process grows beyond this.",
            show_default=False,
        ),
    ] = None,
    no_attribution: Annotated[
        bool,
        typer.Option(
            "--no-attribution",
            help="Do not run programs again to find out why outputs are not bitwise equal.",
        ),
    ] = False,
    exit_zero: ExitZero = False,
) -> None:
    """Run programs on every side and compare them.

    Examples:

      constparity run                                     the built-in corpus

      constparity run my_model.py:step                    one program

      constparity run my_package.programs --sides jax-legacy,jax-simplified

      constparity run --report html:report.html --report json:report.json --exit-zero
    """
    from parity_tests.processes import side_runs as sides_

    chosen = _parse_sides(sides)
    saving = [f"json:{save}"] if save else []
    requests = checked_reports([*saving, *(report or ())])[len(saving) :]
    result = _run(
        context,
        targets or (),
        hint="; the same command goes on from here" if resume else "",
        sides=chosen,
        timeout=timeout,
        memory_limit=memory_limit * 2**20 if memory_limit else None,
        resume=resume,
        rounds=rounds,
        save=save,
        steady_calls=0 if no_times else sides_.STEADY_CALLS,
        fresh=fresh,
        reload=reload,
        attribute=not no_attribution,
    )
    if result is not None:
        _conclude(context, result, requests, exit_zero)


@app.command()
def explain(
    context: typer.Context,
    targets: Annotated[
        list[str],
        typer.Argument(metavar="TARGET...", help="As for `run`.", show_default=False),
    ],
    sides: Sides = ALL_SIDES,
    timeout: ProgramTimeout = 120.0,
    exit_zero: ExitZero = False,
) -> None:
    """Print what each program captured, what became of it on each side, and what a flip may change.

    A hazard is possible and not certain, and does not change the exit status, which is that of
    `run`.

    Examples:

      constparity explain my_model.py:step

      constparity explain my_package.programs --sides jax-legacy,jax-simplified
    """
    from parity_tests.cli import explain_view as explaining
    from parity_tests.cli import terminal

    result = _run(context, targets, sides=_parse_sides(sides), timeout=timeout, steady_calls=0)
    if result is not None:
        explaining.print_explanation(terminal.console(), result)
        context.obj.code = Exit.PARITY if exit_zero else code_of(result.verdict)


@app.command()
def matrix(
    context: typer.Context,
    sides: Sides = ALL_SIDES,
    report: Report = None,
    exit_zero: ExitZero = False,
) -> None:
    """Run one captured array in each construct of JAX under each transformation; print the grid.

    The cells that nobody runs are in the grid, too. The exit status is that of `run`.
    """
    from parity_tests.cli import matrix_grid, terminal
    from parity_tests.corpus import transform_matrix

    requests = checked_reports(report or ())
    result = _run(
        context,
        [transform_matrix.__name__],
        sides=_parse_sides(sides),
        steady_calls=0,
        reload=True,
    )
    if result is not None:
        _conclude(context, result, requests, exit_zero)
        terminal.print_grid(terminal.console(), matrix_grid.grid(result))


@app.command()
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
        ),
    ] = False,
    timeout: ProgramTimeout = 120.0,
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
    from parity_tests.cli import terminal
    from parity_tests.evidence.saved import Saved, SavedError

    requests = checked_reports(report or ())
    try:
        with terminal.progress(terminal.console()) as advance:
            result = compare_saved.compare(
                Saved.read(left),
                Saved.read(right),
                attribute=attribute,
                timeout=timeout,
                progress=advance,
            )
    except (SavedError, reports.ReportReadError) as error:
        fail(str(error))
    except KeyboardInterrupt:
        print("constparity: interrupted", file=sys.stderr)
        context.obj.code = Exit.INTERRUPTED
        return
    _conclude(context, result, requests, exit_zero)


def _run(
    context: typer.Context, targets: Sequence[str], *, hint: str = "", **options: Any
) -> Campaign | None:
    """Run a campaign with a progress bar; None where it came to nothing, which then is said."""
    from parity_tests.campaign import run as campaign
    from parity_tests.campaign.folder import ResumeError
    from parity_tests.cli import terminal
    from parity_tests.targets import TargetError

    try:
        with terminal.progress(terminal.console()) as advance:
            result = campaign.run(targets, **options, progress=advance)
    except (TargetError, ResumeError) as error:
        fail(str(error))
    except KeyboardInterrupt:
        print(f"constparity: interrupted{hint}", file=sys.stderr)
        context.obj.code = Exit.INTERRUPTED
        return None
    if not result.programs:
        print(f"no programs in {' '.join(targets or ['the built-in corpus'])}", file=sys.stderr)
        context.obj.code = Exit.NOTHING_COLLECTED
        return None
    return result


def _conclude(
    context: typer.Context, result: Campaign, requests: Sequence[ReportRequest], exit_zero: bool
) -> None:
    """Print a campaign, write its reports, and set what the process exits with."""
    from parity_tests.cli import terminal

    console = terminal.console()
    terminal.print_campaign(console, result)
    context.obj.code = Exit.PARITY if exit_zero else code_of(result.verdict)
    write_reports(context, console, requests, result)


@app.command()
def fuzz(
    context: typer.Context,
    programs: Annotated[
        int, typer.Option(min=1, metavar="N", help="How many programs to generate.")
    ] = 50,
    seed: Annotated[
        int, typer.Option(min=0, metavar="S", help="The same seed, the same programs.")
    ] = 0,
    sides: Sides = ALL_SIDES,
    report: Report = None,
    keep: Annotated[
        Path, typer.Option(metavar="DIR", help="Where programs that failed are written.")
    ] = Path("constparity-fuzz"),
    timeout: ProgramTimeout = 120.0,
) -> None:
    """Generate programs that capture arrays, and compare them on every side.

    A program that fails is made smaller and written to a file that runs by itself. Programs that
    stock JAX refuses as well are counted, and left out. Exits as `constparity run` does.

    Examples:

      constparity fuzz --programs 200 --seed 7

      XLA_FLAGS=--xla_force_host_platform_device_count=2 constparity fuzz
    """
    from parity_tests.cli import terminal

    try:
        from parity_tests.fuzz import campaign as fuzzing
    except ModuleNotFoundError as missing:
        if missing.name != "hypothesis":
            raise
        fail("generating programs needs hypothesis: install constparity[fuzz]")
    chosen = _parse_sides(sides)
    requests = checked_reports(report or ())
    console = terminal.console()
    try:
        with terminal.progress(console) as advance:
            fuzzed = fuzzing.run(programs, seed, sides=chosen, timeout=timeout, progress=advance)
        terminal.print_campaign(console, fuzzed.campaign)
        if fuzzed.refused:
            refused = counted(len(fuzzed.refused), "more program")
            console.print(f"{refused} that stock JAX refuses as well", highlight=False)
        write_reports(context, console, requests, fuzzed.campaign)
        for kept in fuzzing.keep(fuzzed, keep, timeout=timeout):
            console.print(f"kept: {kept.file}", highlight=False, soft_wrap=True)
    except KeyboardInterrupt:
        print("constparity: interrupted", file=sys.stderr)
        context.obj.code = Exit.INTERRUPTED
        return
    context.obj.code = max(context.obj.code, code_of(fuzzed.campaign.verdict))


app.command()(aa)
app.command()(bench)
app.command()(culprit)
app.command()(sweep)
app.command()(tune)
app.command()(reduce)
app.add_typer(export, name="export")
