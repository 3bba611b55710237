"""Measure programs on all sides, and take times that can be judged.

With rounds, fresh processes run one at a time, in the order A B B A: a machine that grows slower
meanwhile then slows both sides alike. A process takes all programs, so it gives one sample for each
stage of each program; `parity_tests.judge.timing` judges them.

Without rounds, programs whose times stand apart across the flip are measured again, in two
processes for each of its two sides, in the same order: all sides of a campaign run at once and take
time from each other, so a process may be slow as a whole. Programs that compile for long are left
out where their times exceed the limits threefold.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from parity_tests.evidence.folder_layout import turn_folder
from parity_tests.evidence.records import Recorded
from parity_tests.judge import beyond_doubt
from parity_tests.judge.sides import flipped
from parity_tests.processes.protocol import Job
from parity_tests.processes.side_runs import run_sides
from parity_tests.processes.worker_process import PROCESSES
from parity_tests.run.collection import Context
from parity_tests.run.comparing import FinishedPrograms
from parity_tests.run.estimates import again, spoken
from parity_tests.run.folder import setup_of
from reports.rows import Observation, Side, TimeSamples, metrics
from reports.rows.metric_records import Metric
from reports.views.texts import counted

_Compared = TypeVar("_Compared")


def measure(context: Context, watch: FinishedPrograms | None = None) -> Context:
    """Run the programs on all sides, and those that every side could run in rounds as well.

    `watch` is asked of each program that has run on all sides, and may end the measurements.

    Example::

        measure(Context(collected, options, folder)).records[0]["legacy"].observation
    """
    measured = run_once(context, watch)
    timed = to_time(measured)
    samples = {} if measured.has_stopped else time_sides(timed, measured)
    return replace(measured, samples=samples, again=measure_again(timed, measured))


def run_once(context: Context, watch: FinishedPrograms | None = None) -> Context:
    """Run the programs once on all sides, and tell how long their rounds will take.

    What is in the folder already is not run again.
    """
    begun = time.monotonic()
    jobs, sides = context.collected.jobs, context.options.sides
    if jobs:
        context.progress(0, len(jobs) * len(sides), "starting the processes")
    how = setup_of(context.options)
    if watch is not None and watch.is_asked is not None:
        # A program is judged when it has run on all sides, so these run side by side.
        how = how.model_copy(update={"processes": how.processes or len(sides)})
    recorded = run_sides(
        jobs, sides, context.folder, how, progress=context.progress, stops_after=watch or _never
    )
    has_stopped = watch is not None and watch.has_stopped
    records = {
        number: {side: recorded[number, side] for side in sides if (number, side) in recorded}
        for number in range(len(context.collected.programs))
    }
    if has_stopped:  # what has not run on all sides is left out
        records = {n: each if len(each) == len(sides) else {} for n, each in records.items()}
    measured = replace(context, records=records, has_stopped=has_stopped)
    has_begun = context.files.rounds.exists()
    if context.options.rounds and not (has_stopped or has_begun) and to_time(measured):
        context.announce(_estimate(time.monotonic() - begun, context))
    return measured


def to_time(context: Context) -> list[Job]:
    """Return the jobs of the programs that all sides could run."""
    jobs, records, sides = context.collected.jobs, context.records, context.options.sides
    has_all = all(len(records[job.number]) == len(sides) for job in jobs)
    return [job for job in jobs if has_all and not _has_failed(records[job.number])]


def _never(number: int, records: Mapping[Side, Recorded]) -> bool:
    return False


def _has_failed(records: Mapping[Side, Recorded]) -> bool:
    return any(each.observation.failure for each in records.values())


def _estimate(seconds: float, context: Context) -> str:
    """Say how long the rounds will take if each process takes as long as it took just now."""
    options = context.options
    at_once = min(options.processes or PROCESSES, len(options.sides))
    left = seconds * at_once * 2 * options.rounds
    return (
        f"{counted(options.rounds, 'round')} will take {spoken(left)}: the programs ran once on "
        f"each side in {spoken(seconds)}, and run {2 * options.rounds} times more, one process at "
        "a time"
    )


# -- rounds ----------------------------------------------------------------------------------------


def time_sides(jobs: Sequence[Job], context: Context) -> dict[int, tuple[TimeSamples, ...]]:
    """Run every job twice on every side in each round, and return the samples by job number.

    The folder keeps finished processes, for a campaign that goes on. A program that fails in one
    process has a sample less.

    Example::

        time_sides(jobs, Context(collected, CampaignOptions(rounds=5), folder))
    """
    turns: list[dict[tuple[int, Side], Recorded]] = []
    for turn in range(2 * context.options.rounds):
        for side in in_turns(context.options.sides, turn):
            turns.append(take_turn(jobs, context, turn, side))
            if len(turns[-1]) < len(jobs):  # the folder takes no more
                return samples_of(turns)
    if turns:
        context.progress(len(turns), len(turns), "")
    return samples_of(turns)


def take_turn(
    jobs: Sequence[Job], context: Context, turn: int, side: Side
) -> dict[tuple[int, Side], Recorded]:
    """Run every job on one side in a turn of the rounds; one that is in the folder is read."""
    options = context.options
    done = turn * len(options.sides) + in_turns(options.sides, turn).index(side)
    said = f"round {turn // 2 + 1} of {options.rounds}: {side}"
    context.progress(done, 2 * options.rounds * len(options.sides), said)
    folder = turn_folder(context.files.rounds, turn)
    return run_sides(jobs, [side], folder, options.once_more(memory_limit=None))


def samples_of(
    turns: Iterable[Mapping[tuple[int, Side], Recorded]],
) -> dict[int, tuple[TimeSamples, ...]]:
    """Return the times of several runs as samples by job number, in the order of the runs."""
    taken: dict[tuple[int, Side], list[Observation]] = {}
    for recorded in turns:
        for key, record in recorded.items():
            if record.observation.times is not None:
                taken.setdefault(key, []).append(record.observation)
    samples: dict[int, list[TimeSamples]] = {}
    for (number, side), observations in taken.items():
        samples.setdefault(number, []).extend(
            TimeSamples(side=side, metric=metric.stage, seconds=seconds)
            for metric in metrics.METRICS
            if metric.stage and (seconds := _seconds(observations, metric))
        )
    return {number: tuple(each) for number, each in samples.items()}


def in_turns(compared: Sequence[_Compared], turn: int) -> Sequence[_Compared]:
    """Return what is compared in the order of a turn: A B, then B A."""
    return compared if turn % 2 == 0 else compared[::-1]


def _seconds(observations: Sequence[Observation], metric: Metric) -> tuple[float, ...]:
    found = (metric.read(each) for each in observations)
    return tuple(seconds for seconds in found if seconds is not None)


# -- without rounds --------------------------------------------------------------------------------


def measure_again(jobs: Sequence[Job], context: Context) -> dict[int, tuple[Observation, ...]]:
    """Return the observations of programs that were measured again, by job number: two of a side.

    With rounds there is no need: those judge times.

    Example::

        measure_again(jobs, context)
    """
    pair, options = flipped(context.pairs), context.options
    if pair is None or options.rounds or not options.steady_calls:
        return {}

    def is_slower(job: Job) -> bool:
        before, after = (context.records[job.number][side].observation.times for side in pair)
        if not before or not after or beyond_doubt.is_settled(before, after):
            return False
        return beyond_doubt.may_be_slower(before, after)

    slower = [job for job in jobs if is_slower(job)]
    running = options.once_more()
    found: dict[int, tuple[Observation, ...]] = {}
    turns = (*pair, *reversed(pair)) if slower else ()
    for turn, side in enumerate(turns):

        def step(done: int, of_turn: int, text: str, turn: int = turn) -> None:
            context.progress(turn, len(turns), f"measured again: {text}")

        before = [context.records[job.number][side].observation for job in slower]
        step(0, 0, again(side, [job.name for job in slower], before))
        folder = turn_folder(context.files.slower, turn)
        for (number, _), record in run_sides(
            slower, [side], folder, running, progress=step
        ).items():
            found[number] = (*found.get(number, ()), record.observation)
    return found
