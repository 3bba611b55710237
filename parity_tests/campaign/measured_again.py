"""Measure programs again whose times stand apart across the flip: one process after the other.

All sides of a campaign run at once and take time from each other, so a process may be slow as a
whole. Few programs are measured again, in two processes for each of the two sides, in the order
A B B A: a machine that grows slower meanwhile slows both sides alike. Programs that compile for
long are left out where their times exceed the limits threefold.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from parity_tests.campaign.estimates import again
from parity_tests.campaign.options import CampaignOptions
from parity_tests.evidence.folder_layout import CampaignFiles, turn_folder
from parity_tests.evidence.records import Recorded
from parity_tests.judge import beyond_doubt
from parity_tests.judge.sides import flipped, pairs_of
from parity_tests.processes.protocol import Job, Progress
from parity_tests.processes.side_runs import run_sides
from reports.rows import Observation, Side


def measure_again(
    jobs: Sequence[Job],
    recorded: Mapping[tuple[int, Side], Recorded],
    files: CampaignFiles,
    options: CampaignOptions,
    *,
    progress: Progress = lambda done, total, text: None,
) -> dict[int, tuple[Observation, ...]]:
    """Return the observations of programs that were measured again, by job number: two of a side.

    With `rounds` there is no need: those judge times.

    Example::

        measure_again(jobs, recorded, CampaignFiles(folder), options)
    """
    pair = flipped(pairs_of(options.sides))
    if pair is None or options.rounds or not options.steady_calls:
        return {}

    def is_slower(job: Job) -> bool:
        before, after = (recorded[job.number, side].observation.times for side in pair)
        if not before or not after or beyond_doubt.is_settled(before, after):
            return False
        return beyond_doubt.may_be_slower(before, after)

    slower = [job for job in jobs if is_slower(job)]
    running = options.once_more()
    found: dict[int, tuple[Observation, ...]] = {}
    turns = (*pair, *reversed(pair)) if slower else ()
    for turn, side in enumerate(turns):

        def step(done: int, of_turn: int, text: str, turn: int = turn) -> None:
            progress(turn, len(turns), f"measured again: {text}")

        before = [recorded[job.number, side].observation for job in slower]
        step(0, 0, again(side, [job.name for job in slower], before))
        folder = turn_folder(files.slower, turn)
        for (number, _), record in run_sides(
            slower, [side], folder, running, progress=step
        ).items():
            found[number] = (*found.get(number, ()), record.observation)
    return found
