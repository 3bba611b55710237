"""A campaign: programs on sides, measured, judged, and put into rows."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TypeAlias

from parity_tests.campaign.collection import Collected, collect
from parity_tests.campaign.estimates import Announce, spoken
from parity_tests.campaign.finished_programs import FinishedPrograms
from parity_tests.campaign.folder import Setup, campaign_folder, check_same_campaign, setup_of
from parity_tests.campaign.kept_run import KeptRun, kept_run
from parity_tests.campaign.late_settings import with_late_settings
from parity_tests.campaign.lost_hazards import detect_alone
from parity_tests.campaign.measured_again import measure_again
from parity_tests.campaign.one_program import draft_of
from parity_tests.campaign.options import CampaignOptions, side_with_hazards
from parity_tests.campaign.reads_in_calls import with_reads_in_calls
from parity_tests.campaign.repeats import find_unrepeatable
from parity_tests.campaign.sides_that_run import with_sides_that_run
from parity_tests.campaign.timed_rounds import time_sides
from parity_tests.drift.of_campaign import attribute_drift
from parity_tests.evidence import saved
from parity_tests.evidence.folder_layout import CampaignFiles
from parity_tests.evidence.found import HazardsFound
from parity_tests.evidence.records import Recorded, log, truth_of
from parity_tests.judge import beyond_doubt
from parity_tests.judge.row_draft import RowDraft
from parity_tests.judge.sides import pairs_of
from parity_tests.judge.timing import judge_times
from parity_tests.judge.verdict import conclude
from parity_tests.processes.protocol import Job, Progress
from parity_tests.processes.refusing_folder import note_refusal
from parity_tests.processes.side_runs import run_sides
from parity_tests.processes.warm_workers import Truth, warm_arbiter
from parity_tests.processes.worker_process import PROCESSES
from reports.rows import (
    SIDES,
    Campaign,
    Observation,
    ProgramRow,
    Side,
    TimeSamples,
)
from reports.store.errors import StoreError
from reports.views.texts import counted

DEFAULTS = CampaignOptions()
# Given the programs, how they run, and the folder that keeps what was run.
First: TypeAlias = Callable[[Sequence[Job], CampaignOptions, Path], object]


class NotSavedError(OSError):
    """A campaign could not be saved; the message names the file and the reason.

    `has_file` says that `options.save` was written all the same, and the store alone was not.
    """

    def __init__(self, message: str, campaign: Campaign, *, has_file: bool = False) -> None:
        super().__init__(message)
        self.campaign = campaign
        self.has_file = has_file


def run(
    targets: Sequence[str] = (),
    options: CampaignOptions = DEFAULTS,
    *,
    progress: Progress = lambda done, total, text: None,
    announce: Announce = lambda text: None,
    stops_after: Callable[[ProgramRow], bool] | None = None,
    first: First | None = None,
) -> Campaign:
    """Run the programs of targets, or the built-in corpus, on sides, and judge them.

    `announce` is told how long `options.rounds` will take, by what the programs took before the
    rounds begin. `stops_after` is asked of each program that has run on all sides; after the first
    yes the others are not run, and have no rows. Times and causes of drift are not known at that
    point. `first` is called before any program runs. What it leaves of sides in the folder, run as
    `setup_of(options)` says, is not run again.

    Raises `TargetError`, `SidesError`, `ResumeError` and `StoreError` before anything runs, and
    `NotSavedError`, which has the campaign, where `options.save` or `options.store` cannot be
    written.

    Example::

        run(["my_model.py:step"], CampaignOptions(sides=("legacy", "simplified"))).verdict
    """
    with campaign_folder(options.resume) as folder:
        collected = collect(targets, folder, options.time_limit, options.select)
        jax = collected.environment.jax
        options = with_sides_that_run(options, jax, announce, has_flag=collected.listing.has_flag)
        setup = setup_of(options)
        check_same_campaign(folder, collected.listing, setup)
        with kept_run(targets, options, collected, setup) as kept:
            if options.rounds and collected.jobs and stops_after is None:
                what = counted(options.rounds, "round")
                announce(f"{what}: a first pass will tell how long they take")
            if kept is not None:
                announce(f"kept as {kept.name}")
            watch = None
            if stops_after or kept:
                keep = kept.put if kept else None
                watch = FinishedPrograms(collected, options, folder, stops_after, keep)
            if first is not None:
                first(collected.jobs, options, folder)
            measured = _measure(collected, options, setup, folder, progress, announce, watch)
            result = _judged(measured, options, folder, progress)
            _save(measured, result, options, folder, kept)
    return result


def _judged(
    measured: _Measured, options: CampaignOptions, folder: Path, progress: Progress
) -> Campaign:
    """Judge what was measured; programs that differ run again, to see whether and why they do."""
    drafts = _compare(measured, options, folder, progress)
    try:
        drafts = find_unrepeatable(
            drafts, measured.collected.jobs, measured.records, options, folder, progress
        )
    except OSError as error:  # the folder is full, or went away
        note_refusal(error)
        log.warning("constparity: programs that differ were not run again (%s)", error)
    job = measured.collected.job
    drafts = with_late_settings(drafts, job, options, folder, progress)
    if options.attribute:
        drafts = _attribute(drafts, measured, options, folder, progress)
        drafts = with_reads_in_calls(drafts, job, options, folder, progress)
    pairs = pairs_of(options.sides)
    told = [draft for number, draft in enumerate(drafts) if measured.is_told(number)]
    return Campaign(
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        environment=measured.collected.environment,
        provenance=_waiting(measured) if options.steady_calls else (),
        sides=options.sides,
        programs=tuple(draft.row(conclude(draft.findings, pairs)) for draft in told),
        not_run=tuple(
            each.name for number, each in enumerate(drafts) if not measured.is_told(number)
        ),
    )


def _waiting(measured: _Measured) -> tuple[str, ...]:
    """Say that the machine was busy while times were taken."""
    found = [each.observation.times for sides in measured.records for each in sides.values()]
    said = beyond_doubt.waiting(each for each in found if each)
    return (said,) if said else ()


def _save(
    measured: _Measured,
    result: Campaign,
    options: CampaignOptions,
    folder: Path,
    kept: KeptRun | None,
) -> None:
    """Write a campaign to its store and its file. Raises `NotSavedError` after both were tried."""
    failures, has_file = [], False
    if kept is not None:
        try:
            kept.finish(result)
        except StoreError as error:
            failures.append(str(error))
    if options.save is not None:
        numbers = [n for n in range(len(measured.records)) if measured.is_told(n)]
        try:
            saved.save(options.save, result, lambda place: _kept(measured, folder, numbers[place]))
            has_file = True
        except OSError as error:
            failures.append(str(error))
    if failures:
        raise NotSavedError("; ".join(failures), result, has_file=has_file)


@dataclass(frozen=True)
class _Measured:
    """What all processes left: records by program and side; by program, samples of times.

    `again` has the observations of programs that were measured again.
    """

    collected: Collected
    records: list[dict[Side, Recorded]]
    samples: dict[int, tuple[TimeSamples, ...]]
    again: dict[int, tuple[Observation, ...]]
    has_stopped: bool = False  # after the first finding

    def is_told(self, number: int) -> bool:
        """Say whether a program has a row: it was run on all sides, or cannot be."""
        unavailable = self.collected.programs[number].unavailable is not None
        return not self.has_stopped or unavailable or bool(self.records[number])


def _measure(
    collected: Collected,
    options: CampaignOptions,
    setup: Setup,
    folder: Path,
    progress: Progress,
    announce: Announce,
    watch: FinishedPrograms | None,
) -> _Measured:
    """Run the programs on all sides, and those that every side could run in rounds as well."""
    jobs, sides = collected.jobs, options.sides
    progress(0, len(jobs) * len(sides), "")
    begun = time.monotonic()
    how = setup
    if watch is not None and watch.is_asked is not None:
        # A program is judged when it has run on all sides, so these run side by side.
        how = setup.model_copy(update={"processes": setup.processes or len(sides)})
    stops_after = watch or _never
    recorded = run_sides(jobs, sides, folder, how, progress=progress, stops_after=stops_after)
    seconds = time.monotonic() - begun
    records = [
        {side: recorded[number, side] for side in sides if (number, side) in recorded}
        for number in range(len(collected.programs))
    ]

    def has_failed(job: Job) -> bool:
        return any(each.observation.failure for each in records[job.number].values())

    has_stopped = watch is not None and watch.has_stopped
    if has_stopped:  # what has not run on all sides is left out
        records = [each if len(each) == len(sides) else {} for each in records]
    has_all = all(len(records[job.number]) == len(sides) for job in jobs)
    files, timed = CampaignFiles(folder), [job for job in jobs if has_all and not has_failed(job)]
    samples: dict[int, tuple[TimeSamples, ...]] = {}
    if not has_stopped:
        if options.rounds and timed:
            announce(_estimate(seconds, options))
        samples = time_sides(timed, files.rounds, options, progress=progress)
    again = measure_again(timed, recorded, files, options, progress=progress)
    return _Measured(collected, records, samples, again, has_stopped)


def _never(number: int, records: Mapping[Side, Recorded]) -> bool:
    return False


def _estimate(seconds: float, options: CampaignOptions) -> str:
    """Say how long the rounds will take if each process takes as long as it took just now."""
    at_once = min(options.processes or PROCESSES, len(options.sides))
    left = seconds * at_once * 2 * options.rounds
    return (
        f"{counted(options.rounds, 'round')} will take {spoken(left)}: the programs ran once on "
        f"each side in {spoken(seconds)}, and run {2 * options.rounds} times more, one process at "
        "a time"
    )


def _compare(
    measured: _Measured, options: CampaignOptions, folder: Path, progress: Progress
) -> list[RowDraft]:
    """Compare the sides of each program, with the arbiter where it may decide, and judge times."""
    collected, samples = measured.collected, measured.samples
    by_name = {collected.programs[number].name: each for number, each in samples.items()}
    times = judge_times(by_name, by_name, pairs_of(options.sides))
    # The saved results may be compared with other sides later, when no arbiter is asked.
    always_arbitrate = options.save is not None and not set(SIDES) <= set(options.sides)
    total, most = len(collected.programs), f"at most {options.timeout:g} s"

    def judging(number: int, what: str = "") -> None:
        progress(number, total, f"judging {collected.programs[number].name}{what}")

    with warm_arbiter(folder, options.time_limit, fresh=options.fresh) as arbitrate:

        def ask_arbiter(number: int) -> Truth:
            judging(number, f": in double precision, {most}")
            return arbitrate(collected.job(number))

        def ask_hazards(number: int, reads: str) -> HazardsFound:
            judging(number, f": hazards in a process of their own, {most}")
            return detect_alone(collected.job(number), folder, options.limits, reads)

        drafts = []
        for number, each in enumerate(collected.programs):
            judging(number)
            draft = draft_of(
                each,
                measured.records[number],
                options.sides,
                partial(ask_arbiter, number),
                partial(ask_hazards, number),
                hazards_on=side_with_hazards(options),
                time_samples=samples.get(number, ()),
                times=times.get(each.name, ()),
                measured_again=measured.again.get(number, ()),
                always_arbitrate=always_arbitrate,
            )
            drafts.append(draft)
        return drafts


def _attribute(
    drafts: Sequence[RowDraft],
    measured: _Measured,
    options: CampaignOptions,
    folder: Path,
    progress: Progress,
) -> list[RowDraft]:
    """Find out why outputs are not bitwise equal."""
    return attribute_drift(
        drafts,
        measured.collected.job,
        lambda number, side: measured.records[number][side].evidence(),
        partial(truth_of, folder),
        folder,
        options.time_limit,
        timeout=options.attribution_timeout,
        progress=progress,
    )


def _kept(measured: _Measured, folder: Path, number: int) -> saved.Kept:
    """Load what one program left, to be saved."""
    records = measured.records[number]
    evidence = {side: record.evidence() for side, record in records.items()}
    return saved.Kept(evidence, truth_of(folder, number))
