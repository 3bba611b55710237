"""A campaign: programs on sides, measured, judged, and put into rows."""

from __future__ import annotations

import contextlib
import os
import platform
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import psutil

from parity_tests.drift.of_campaign import attribute_drift
from parity_tests.evidence import saved
from parity_tests.evidence.folder_layout import finished_programs
from parity_tests.evidence.records import log, truth_of
from parity_tests.judge import beyond_doubt
from parity_tests.judge.timing import growth_of
from parity_tests.judge.verdict import RowDraft, conclude
from parity_tests.processes.git import git
from parity_tests.processes.protocol import Progress
from parity_tests.run.asking_for_hazards import with_reads_in_calls
from parity_tests.run.collection import Collected, Context, collect, with_sides_that_run
from parity_tests.run.comparing import FinishedPrograms, compare_sides
from parity_tests.run.estimates import Announce
from parity_tests.run.folder import campaign_folder, check_same_campaign, setup_of
from parity_tests.run.late_settings import with_late_settings
from parity_tests.run.measuring import measure
from parity_tests.run.only_changed import (
    settings_of,
    unchanged_since,
    with_rows,
    without,
)
from parity_tests.run.options import CampaignOptions
from parity_tests.run.repeats import find_unrepeatable
from parity_tests.targets import digest_of
from reports.rows import Campaign, ProgramRow, now
from reports.rows.history import Commit, RunBegin
from reports.store import writing
from reports.store.database import StoreError
from reports.views.texts import counted

DEFAULTS = CampaignOptions()


class NotSavedError(OSError):
    """A campaign could not be saved; the message names the file and the reason.

    `has_file` says that `options.save` was written all the same, and the store alone was not.
    """

    def __init__(self, message: str, campaign: Campaign, *, has_file: bool = False) -> None:
        super().__init__(message)
        self.campaign = campaign
        self.has_file = has_file


def _with_drift(drafts: Sequence[RowDraft], context: Context) -> list[RowDraft]:
    """Return the drafts, with the reason why outputs are not bitwise equal, where it is asked."""
    if not context.options.attribute:
        return list(drafts)
    return attribute_drift(
        drafts,
        context.job,
        lambda number, side: context.records[number][side].evidence(),
        partial(truth_of, context.folder),
        context.folder,
        context.options.time_limit,
        timeout=context.options.attribution_timeout,
        progress=context.progress,
    )


# What looks into the differences between sides. Each is given the drafts of the one before it.
Pass = Callable[[Sequence[RowDraft], Context], list[RowDraft]]
PASSES: tuple[Pass, ...] = (
    find_unrepeatable,
    with_late_settings,
    _with_drift,
    with_reads_in_calls,
)


def run(
    targets: Sequence[str] = (),
    options: CampaignOptions = DEFAULTS,
    *,
    progress: Progress = lambda done, total, text: None,
    announce: Announce = lambda text: None,
    stops_after: Callable[[ProgramRow], bool] | None = None,
    first: Callable[[Context], object] | None = None,
    passes: Sequence[Pass] = PASSES,
) -> Campaign:
    """Run the programs of targets, or the built-in corpus, on sides, and judge them.

    `announce` is told how long `options.rounds` will take, by what the programs took before the
    rounds begin. `stops_after` is asked of each program that has run on all sides; after the first
    yes the others are not run, and have no rows. Times and causes of drift are not known at that
    point. `first` is called before any program runs. What it leaves of sides in the folder, run as
    `setup_of(options)` says, is not run again. `passes` look into differences; without any, they
    are judged as the first run of each side shows them.

    Raises `TargetError`, `SidesError`, `ResumeError` and `StoreError` before anything runs, and
    `NotSavedError`, which has the campaign, where `options.save` or `options.store` cannot be
    written.

    Example::

        run(["my_model.py:step"], CampaignOptions(sides=("legacy", "simplified"))).verdict
    """
    with campaign_folder(options.resume) as folder:
        context, taken = prepared(targets, options, folder, progress, announce), {}
        collected, options = context.collected, context.options
        resumed = _resumed(context)
        for line in resumed:
            announce(line)
        if options.only_changed is not None:
            taken = unchanged_since(options.only_changed, context)
            context = replace(context, collected=without(collected, taken))
        with kept_run(targets, context) as kept:
            has_begun = context.files.rounds.exists()
            if options.rounds and context.collected.jobs and not (has_begun or stops_after):
                what = counted(options.rounds, "round")
                announce(f"{what}: a first pass will tell how long they take")
            if kept is not None:
                announce(f"kept as {kept.name}")
            watch = None
            if stops_after or kept:
                watch = FinishedPrograms(context, stops_after, kept.put if kept else None)
            if first is not None:
                first(context)
            measured = measure(context, watch)
            judged = _judged(measured, passes, resumed)
            result = with_rows(judged, taken, collected)
            _save(measured, result, kept)
    return result


def prepared(
    targets: Sequence[str],
    options: CampaignOptions,
    folder: Path,
    progress: Progress,
    announce: Announce,
) -> Context:
    """List the programs of a campaign, and make its folder one of this campaign.

    Raises `TargetError`, `SidesError` and `ResumeError`.
    """
    collected = collect(targets, folder, options.time_limit, options.select)
    options = with_sides_that_run(options, collected, announce)
    check_same_campaign(folder, collected.listing, setup_of(options))
    return Context(collected, options, folder, progress, announce)


def _resumed(context: Context) -> tuple[str, ...]:
    """Say of how many programs a folder has results of an earlier command."""
    folder, programs = context.options.resume, len(context.collected.programs)
    begun = psutil.Process().create_time()
    there = {
        each.number
        for each in (finished_programs(folder) if folder else ())
        if each.observation.stat().st_mtime < begun
    }
    if not there:
        return ()
    return (
        f"{folder} had results of {len(there):,} of {counted(programs, 'program')}: data, packages "
        "that are installed, other variables than JAX_* and XLA_FLAGS, and modules that no import "
        "statement names may have changed since",
    )


def _judged(context: Context, passes: Sequence[Pass], provenance: tuple[str, ...] = ()) -> Campaign:
    """Judge what was measured: its sides are compared, and looked into where they differ."""
    drafts = compare_sides(context)
    for each_pass in passes:
        drafts = each_pass(drafts, context)
    told = [draft for number, draft in enumerate(drafts) if context.is_told(number)]
    rows = tuple(draft.row(conclude(draft.findings, context.pairs)) for draft in told)
    return Campaign(
        created=now(),
        environment=context.collected.environment,
        provenance=(
            *provenance,
            *_saved_since(context.collected),
            *(_waiting(context) if context.options.steady_calls else ()),
        ),
        settings=settings_of(context.options),
        sides=context.options.sides,
        programs=rows,
        growth=growth_of(rows),
        not_run=tuple(
            each.program.name for number, each in enumerate(drafts) if not context.is_told(number)
        ),
    )


def _saved_since(collected: Collected) -> tuple[str, ...]:
    """Say which files of the user have changed since the programs were listed."""
    read = collected.listing.imported
    saved = [os.path.relpath(each) for each in read if digest_of(Path(each)) != read[each]]
    if not saved:
        return ()
    return (
        f"{', '.join(saved)} changed during the run: sides may have run different texts, and "
        "differ by these alone; run again",
    )


def _waiting(context: Context) -> tuple[str, ...]:
    """Say that the machine was busy while times were taken."""
    found = [
        each.observation.times for sides in context.records.values() for each in sides.values()
    ]
    said = beyond_doubt.waiting(each for each in found if each)
    return (said,) if said else ()


def _save(context: Context, result: Campaign, kept: KeptRun | None) -> None:
    """Write a campaign to its store and its file. Raises `NotSavedError` after both were tried."""
    failures, has_file = [], False
    if kept is not None:
        try:
            kept.finish(result)
        except StoreError as error:
            failures.append(str(error))
    if context.options.save is not None:
        told = (number for number in context.records if context.is_told(number))
        members: dict[str, Path] = {}
        for place, number in enumerate(told):
            members |= saved.members_of(place, context.records[number], context.folder, number)
        try:
            saved.save(context.options.save, result, members)
            has_file = True
        except OSError as error:
            failures.append(str(error))
    if failures:
        raise NotSavedError("; ".join(failures), result, has_file=has_file)


# -- the option --store: a campaign is kept in a store of runs while it goes on --------------------

# The options that figures depend on, beside the variables.
_SETTINGS = ("steady_calls", "fresh", "reload", "processes")


@dataclass
class KeptRun:
    """A campaign in its store. Where the store fails, the campaign goes on without it."""

    writer: writing.RunWriter
    collected: Collected
    has_failed: bool = False

    @property
    def name(self) -> str:
        """How the user finds it again."""
        return f"run {self.writer.run} of {self.writer.path}"

    def put(self, number: int, row: ProgramRow) -> None:
        """Commit a program that is finished; a warning says where that is no longer possible."""
        if self.has_failed:
            return
        try:
            self.writer.put(number, row)
        except StoreError as error:
            self.has_failed = True
            log.warning("constparity: %s; the end of the run tries once more", error)

    def finish(self, campaign: Campaign) -> None:
        """Commit the whole campaign. Raises `StoreError`."""
        places = {each.name: number for number, each in enumerate(self.collected.programs)}
        self.writer.finish(campaign, places)


@contextlib.contextmanager
def kept_run(targets: Sequence[str], context: Context) -> Iterator[KeptRun | None]:
    """Begin a run in the store of the options; None without one, or without programs.

    Raises `StoreError`.
    """
    options, collected = context.options, context.collected
    if options.store is None or not collected.programs:
        yield None
        return
    begin = RunBegin(
        started=now(),
        environment=collected.environment,
        sides=options.sides,
        machine=options.machine or platform.node(),
        commit=commit_of(targets),
        settings=_settings(options),
        planned=tuple(each.name for each in collected.programs),
    )
    with writing.begun(options.store, begin) as writer:
        yield KeptRun(writer, collected)


def _settings(options: CampaignOptions) -> dict[str, str]:
    setup = setup_of(options)
    given = {name: str(getattr(setup, name)) for name in _SETTINGS}
    return {**given, "rounds": str(options.rounds), **setup.variables}


def commit_of(targets: Sequence[str]) -> Commit | None:
    """Return the commit of the repository that the first target on the disk lies in.

    Without one it is the repository of the working directory. None where there is no repository,
    no commit in it, or no git.

    Example::

        commit_of(["my_model.py:step"]).id
    """
    paths = (Path(each.split(":")[0] or ".") for each in targets)
    first = next((each for each in paths if each.exists()), Path())
    folder = first if first.is_dir() else first.parent
    told = git(folder, "log", "-1", "--format=%H %cI")
    if not told:
        return None
    commit, date = told.split()
    changed = git(folder, "status", "--porcelain", "--untracked-files=no")
    return Commit(commit, date, is_dirty=changed is None or bool(changed))
