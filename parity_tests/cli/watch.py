"""The command `constparity watch`: a server that answers for programs whenever a file is saved."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from parity_tests.cli.display import Display, NoColor, Verbose
from parity_tests.cli.exit_codes import Exit, complain
from parity_tests.cli.options import NoAttribution, ProgramTimeout, Sides, parse_sides

if TYPE_CHECKING:
    from parity_tests.processes.early_starts import EarlyStarts
    from parity_tests.run.options import CampaignOptions
    from parity_tests.run.watched_files import WatchedFiles
    from reports.rows import Campaign

_IMPORTING = 2  # processes at once that import JAX for the next answer


def watch(
    context: typer.Context,
    targets: Annotated[
        list[str],
        typer.Argument(metavar="TARGET...", help="As for `run`."),
    ],
    sides: Sides = None,
    timeout: ProgramTimeout = 120.0,
    no_attribution: NoAttribution = False,
    verbose: Verbose = False,
    no_color: NoColor = False,
) -> None:
    """Run programs as `run` does, and again whenever their files are saved.

    The files are those that the targets name, and what they import from your own folders. Processes
    that have imported JAX wait for the next save, so an answer takes little more than compiling.
    Ctrl-C ends it, with exit status 130.

    Examples:

      constparity watch my_model.py:step

      constparity watch my_model.py --sides jax-legacy,jax-simplified
    """
    from parity_tests.processes import early_starts

    # No compiled file of a user's module: one of the same second and size would hide the next save.
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    on_sides = parse_sides(sides)
    wanted = early_starts.of_answers(on_sides)
    try:
        with early_starts.started_early(wanted, at_once=len(on_sides) + 1) as early:
            from parity_tests.run.options import CampaignOptions
            from parity_tests.run.watched_files import WatchedFiles

            source = context.get_parameter_source("sides")
            may_miss = source is not None and source.name == "DEFAULT"
            options = CampaignOptions(
                sides=on_sides,
                sides_may_miss=may_miss,
                timeout=timeout,
                attribute=not no_attribution,
            )
            display = Display(quiet=not verbose, no_color=no_color)
            _answer_forever(targets, options, WatchedFiles(targets), early, display)
    except KeyboardInterrupt:
        context.obj.code = Exit.INTERRUPTED


def _answer_forever(
    targets: list[str],
    options: CampaignOptions,
    files: WatchedFiles,
    early: EarlyStarts,
    display: Display,
) -> None:
    from reports.views.texts import counted

    has_begun = False
    while True:
        files.begin()
        begun = time.time()
        result = _answer(targets, options, files)
        if result is not None:
            _print(result, time.time() - begun, display)
        elif not (len(files) or has_begun):
            raise typer.Exit(Exit.USAGE)  # a target that names nothing: there is no file to save
        has_begun = True  # a file that goes now may come back
        print(f"watching {counted(len(files), 'file')}; Ctrl-C ends it", flush=True)
        files.wait_for_save(lambda: early.fill(_IMPORTING))


def _answer(targets: list[str], options: CampaignOptions, files: WatchedFiles) -> Campaign | None:
    """Run the programs once; None where a target cannot be loaded, which is said."""
    from parity_tests.evidence.folder_layout import CampaignFiles
    from parity_tests.evidence.temporary_folders import temporary_folder
    from parity_tests.run import run as campaign
    from parity_tests.targets import TargetError

    with temporary_folder() as folder:
        begun = time.time()
        try:
            return campaign.run(targets, options.model_copy(update={"resume": folder}))
        except TargetError as error:
            complain(str(error))
            sys.stderr.flush()
            return None
        finally:
            files.add_imported(CampaignFiles(Path(folder)).listing, begun)


def _print(result: Campaign, seconds: float, display: Display) -> None:
    from parity_tests.cli import run_view

    console = display.console()
    if not result.programs:
        print("no programs")
    elif display.details:
        run_view.print_campaign(console, result)
    else:
        run_view.print_failing(console, result, {each.name for each in result.programs})
    print(
        f"{time.strftime('%H:%M:%S')}: answered in {seconds:.1f} s, of which JAX traced, lowered "
        f"and compiled for {_seconds_of_jax(result):.1f} s"
    )


def _seconds_of_jax(result: Campaign) -> float:
    """Add up the seconds that all sides traced, lowered and compiled the programs."""
    times = [each.times for row in result.programs for each in row.observations if each.times]
    return sum(each.trace + each.lower + each.compile for each in times)
