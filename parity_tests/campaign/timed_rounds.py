"""Take times that can be judged: rounds of fresh processes, one at a time, in the order A B B A.

A machine that grows slower meanwhile then slows both sides alike. A process takes all programs, so
it gives one sample for each stage of each program; `parity_tests.judge.timing` judges them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from parity_tests.campaign.options import CampaignOptions
from parity_tests.evidence.folder_layout import turn_folder
from parity_tests.evidence.records import Recorded
from parity_tests.processes.protocol import Job, Progress
from parity_tests.processes.side_runs import run_sides
from reports.rows import Observation, Side, TimeSamples, metrics
from reports.rows.metric_records import Metric


def time_sides(
    jobs: Sequence[Job],
    folder: Path,
    options: CampaignOptions,
    *,
    progress: Progress = lambda done, total, text: None,
) -> dict[int, tuple[TimeSamples, ...]]:
    """Run every job twice on every side in each round, and return the samples by job number.

    `folder` keeps finished processes, as a campaign's folder does. A program that fails in one
    process has a sample less.

    Example::

        time_sides(jobs, folder, CampaignOptions(sides=("legacy", "simplified"), rounds=5))
    """
    turns, running = [], options.once_more(memory_limit=None)
    processes = [
        (turn, side) for turn in range(2 * options.rounds) for side in _order(options.sides, turn)
    ]
    for done, (turn, side) in enumerate(processes):
        progress(done, len(processes), f"round {turn // 2 + 1} of {options.rounds}: {side}")
        turns.append(run_sides(jobs, [side], turn_folder(folder, turn), running))
        if len(turns[-1]) < len(jobs):  # the folder takes no more
            break
    if processes:
        progress(len(processes), len(processes), "")
    return samples_of(turns)


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


def _order(sides: Sequence[Side], turn: int) -> Sequence[Side]:
    return sides if turn % 2 == 0 else sides[::-1]


def _seconds(observations: Sequence[Observation], metric: Metric) -> tuple[float, ...]:
    found = (metric.read(each) for each in observations)
    return tuple(seconds for seconds in found if seconds is not None)
