"""A/A: the programs of a task run on their first side once more; what differs is set apart."""

from __future__ import annotations

from pathlib import Path

from parity_tests.campaign.options import CampaignOptions
from parity_tests.evidence.records import Recorded
from parity_tests.judge.comparison import compare_pairs
from parity_tests.processes.protocol import Job
from parity_tests.processes.side_runs import run_sides
from reports.rows import Campaign, Comparison


def differing_from_themselves(
    result: Campaign, options: CampaignOptions, folder: Path
) -> dict[str, str]:
    """Return, by target, what is different where a program runs twice on its first side.

    `options.resume` is the folder that the campaign of `result` has run in.

    Example::

        differing_from_themselves(result, options, folder) == {"model.py:noise": "output bits: ..."}
    """
    side = options.sides[0]
    jobs = [
        Job(number=number, name=row.name, target=row.target)
        for number, row in enumerate(result.programs)
        if any(each.side == side for each in row.observations)
    ]
    assert options.resume is not None
    how = options.once_more(steady_calls=options.steady_calls, processes=1)
    # Both runs see the same programs before each: what those leave behind is no difference.
    first = run_sides(jobs, [side], options.resume, how)
    again = run_sides(jobs, [side], folder / "again", how)
    return {
        job.target: what
        for job in jobs
        if (what := _different(first.get((job.number, side)), again.get((job.number, side))))
    }


def _different(first: Recorded | None, again: Recorded | None) -> str:
    """Say what differs between two runs of one program; "" where nothing does."""
    if first is None or again is None:
        return ""
    failures = [each.observation.failure for each in (first, again)]
    if any(failures):
        said = [f"{each.type} in {each.stage}" if each else "no failure" for each in failures]
        return "" if said[0] == said[1] else f"{said[0]}, then {said[1]}"
    compared = compare_pairs([(first.evidence(), again.evidence())])
    different = [each for each in compared if each.outcome == "different"]
    return "; ".join(map(_said, different[:3]))


def _said(comparison: Comparison) -> str:
    return f"{comparison.metric}: {comparison.left_value} against {comparison.right_value}"
