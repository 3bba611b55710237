"""`constparity run` in several interpreters: the grid that it prints, and what it exits with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from parity_tests.cli.exit_codes import Exit, complain, fail, interrupted, nothing_collected
from parity_tests.cli.report_option import check_saving, write_reports
from parity_tests.cli.run_programs import Ending, exit_by, selected

if TYPE_CHECKING:
    from rich.console import Console

    from parity_tests.cli.selecting import Chosen
    from parity_tests.run.each_version import EachVersion
    from parity_tests.run.options import CampaignOptions
    from reports.rows import ProgramRow
    from reports.rows.fail_rules import Broken, FailRule
    from reports.rows.grid import Grid
    from reports.rows.grid_row import FlipChange, GridVersion


def run_on_versions(
    ending: Ending,
    chosen: Chosen,
    options: CampaignOptions,
    paths: Sequence[Path],
    *,
    stops_after: Callable[[ProgramRow], bool] | None,
) -> None:
    """Run a campaign in each interpreter, print their grid, write its reports, set the exit status.

    With -v the campaign of each version is printed before the grid.
    """
    found = _found(ending, chosen, options, paths, stops_after)
    if found is not None:
        _conclude(ending, found)


def search_releases(
    ending: Ending,
    chosen: Chosen,
    options: CampaignOptions,
    releases: Sequence[str],
    pythons: Callable[[Sequence[str]], list[Path] | None],
) -> None:
    """Find by halves the first of some releases that changes something, and print its grid.

    Each step runs three releases, the middle one beside both ends, so that times of all three are
    taken in turns. Without rounds, what has been run is kept and not run again.
    """
    from parity_tests.cli.terminal import say
    from parity_tests.evidence.temporary_folders import temporary_folder

    with temporary_folder() as folder:
        if not options.rounds:
            options = options.model_copy(update={"resume": folder})
        low, high = 0, len(releases) - 1
        while True:
            asked = [releases[each] for each in sorted({low, (low + high) // 2, high})]
            paths = pythons(asked)
            found = _found(ending, chosen, options, paths, None) if paths else None
            if found is None:
                return
            pair = first_change(found.grid, releases)
            if pair in (None, (low, high)) or pair[1] - pair[0] == 1:
                break
            low, high = pair
    if not found.was_interrupted:
        told = _said_of_search(releases, pair, asked)
        found = replace(found, grid=found.grid.model_copy(update={"search": told}))
    _conclude(ending, found)
    if found.grid.search:
        say(ending.display.console(), found.grid.search, "bold")


def first_change(grid: Grid, releases: Sequence[str]) -> tuple[int, int] | None:
    """Return the places of two releases between which something changes, the first such pair.

    A change is news of a side, its time among them, or another flip verdict. A price in time alone
    is none: a time is news where it is beyond doubt, and a price may be the luck of one grid.

    Example::

        first_change(grid, ["0.11.0", "0.11.1", "0.11.2"]) == (0, 1)
    """
    pairs = [(each.before, each.after) for each in grid.changes if each.is_news]
    flips = [
        change for row in grid.programs for change in row.changes if not _is_price_in_time(change)
    ]
    pairs += [(each.before.version, each.after.version) for each in flips]
    places = [(releases.index(before), releases.index(after)) for before, after in pairs]
    return min(places, key=lambda each: (each[1], -each[0]), default=None)


def _is_price_in_time(change: FlipChange) -> bool:
    cells = (change.before, change.after)
    is_price = {each.flip for each in cells} == {"safe", "safe but slower or larger"}
    return is_price and any(each.kind == "time" for each in cells)


def _said_of_search(
    releases: Sequence[str], pair: tuple[int, int] | None, asked: Sequence[str]
) -> str:
    if pair is None:
        return f"no release changes anything, of those that were run: {', '.join(asked)}"
    before, after = releases[pair[0]], releases[pair[1]]
    if pair[1] - pair[0] > 1:
        return f"something changes between {before} and {after}, and none between them was run"
    return f"the first release that changes something is {after}, after {before}"


def _conclude(ending: Ending, found: EachVersion) -> None:
    from parity_tests.cli import grid_view, run_view
    from parity_tests.cli.terminal import say

    display, grid = ending.display, found.grid
    console = display.console()
    for version in grid.versions if display.details > 1 else ():
        if version.campaign is not None:
            say(console, f"jax {version.label}", "bold")
            run_view.print_campaign(console, version.campaign, details=display.details)
            console.print()
    grid_view.print_grid(console, grid, details=display.details)
    write_reports(ending.context, console, ending.requests, grid, ending.judging.rules)
    _exit_by_rules(ending, grid)
    if found.was_interrupted:
        interrupted(ending.context)


def check_saving_each(
    context: typer.Context, file: Path, paths: Sequence[Path], texts: Sequence[str]
) -> None:
    """Make sure that the results of each version can be saved, and these reports written."""
    from parity_tests.run.each_version import file_of, interpreters_at

    for each in interpreters_at(paths):
        check_saving(context, file_of(file, each.label), texts)


def _found(
    ending: Ending,
    chosen: Chosen,
    options: CampaignOptions,
    paths: Sequence[Path],
    stops_after: Callable[[ProgramRow], bool] | None,
) -> EachVersion | None:
    """Run the campaigns with a progress bar; None where none came to anything, which is said."""
    from parity_tests.run.each_version import interpreters_at, run_each

    context = ending.context
    with ending.display.progress(first="loading the programs") as shown:
        found = run_each(
            chosen.targets,
            selected(context, chosen, options),
            interpreters_at(paths),
            progress=shown,
            announce=shown.say,
            stops_after=stops_after,
        )
    for message in found.not_saved:
        complain(message)
        context.obj.code = Exit.INTERNAL_ERROR
    if found.grid.programs:
        return found
    if found.was_interrupted:
        interrupted(context)
    elif found.refused:
        fail(found.refused[0])
    else:
        nothing_collected(context, chosen.named)
    return None


def _exit_by_rules(ending: Ending, grid: Grid) -> None:
    """Set what the process exits with: the worst of all versions, and of what changes between them.

    A version without a campaign is one that could not be compared. With -q each program that breaks
    a rule is named, too.
    """
    from parity_tests.cli import last_failed

    console, rules = ending.display.console(), ending.judging.rules
    quiet = not ending.display.details
    found: list[Broken] = []
    for version in grid.versions:
        found += _of_version(console, version, rules, quiet)
    found += _across_versions(console, grid, rules, quiet)
    failed = {name for each in found for name in each.programs}
    exit_by(ending, found)
    rows = {row.name: row for v in grid.versions if v.campaign for row in v.campaign.programs}
    last_failed.remember(rows.values(), failed)


def _of_version(
    console: Console, version: GridVersion, rules: Sequence[FailRule], quiet: bool
) -> list[Broken]:
    """Return the rules that the programs of one version break, and print them."""
    from parity_tests.cli import run_view
    from parity_tests.cli.terminal import say
    from reports.rows.fail_rules import Broken, broken
    from reports.views.texts import counted

    if version.campaign is None:
        needed = [each for each in rules if each.name in ("not-compared", "version-change")]
        for rule in needed:
            say(console, f"fails on {rule.text}: nothing was run on {version.label}")
        return [Broken(rule, (), "could not compare") for rule in needed]
    found = broken(version.campaign, rules)
    names = {name for each in found for name in each.programs}
    if names and quiet:
        say(console, f"jax {version.label}:")
        run_view.print_failing(console, version.campaign, names)
    for each in found:
        programs = counted(len(each.programs), "program")
        say(console, f"fails on {each.rule.text}: {programs} on {version.label}")
    return found


def _across_versions(
    console: Console, grid: Grid, rules: Sequence[FailRule], quiet: bool
) -> list[Broken]:
    """Return the rules that programs break from version to version, and print them."""
    from parity_tests.cli import grid_view
    from parity_tests.cli.terminal import say
    from reports.rows.fail_rules import (
        Broken,
        broken_across,
        changes_that_break,
        compares_nothing,
        of_versions,
    )
    from reports.views.texts import counted

    found = broken_across(grid, rules)
    for each in found:
        for name in each.programs if quiet else ():
            grid_view.print_changed(console, name, changes_that_break(grid, each.rule, name))
        what = " could not be compared" if each.status == "could not compare" else ""
        programs = f"{counted(len(each.programs), 'program')}{what}"
        say(console, f"fails on {each.rule.text}: {programs} from version to version")
    empty = [rule for rule in of_versions(rules) if compares_nothing(grid, rule)]
    for rule in empty:
        on = f"the side {rule.subject}" if rule.subject else "no side"
        ran = "did not run" if rule.subject else "ran"
        say(console, f"fails on {rule.text}: {on} {ran} on two versions")
    return [*found, *(Broken(rule, (), "could not compare") for rule in empty)]
